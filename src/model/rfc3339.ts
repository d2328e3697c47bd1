const SHAPE = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;
/** The forms of `str()` and `isoformat()` of a Python datetime: with a space or T, with or without an offset. */
const LOOSE_SHAPE = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})?$/;
const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MS_OF_400_YEARS = 146_097 * 86_400_000;
const MINUTES_OF_DAY = 1440;

/** Unix milliseconds of an RFC 3339 time; undefined for anything else, including days that do not exist. */
export function findRfc3339(text: string): number | undefined {
  return SHAPE.test(text) ? readTime(text) : undefined;
}

/** The same, but also accepts a space instead of the T, and times without an offset as UTC. */
export function findTime(text: string): number | undefined {
  return LOOSE_SHAPE.test(text) ? readTime(text) : undefined;
}

function readTime(text: string): number | undefined {
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  const offset = offsetMinutes(text);
  if (hour > 23 || minute > 59 || offset === undefined) return undefined;
  if (day < 1 || day > (DAYS_IN_MONTH[month - 1] ?? 0) || (month === 2 && day === 29 && !isLeapYear(year)))
    return undefined;

  const utcMinute = hour * 60 + minute - offset;
  const isLeapSecond = second === 60 && (utcMinute + 2 * MINUTES_OF_DAY) % MINUTES_OF_DAY === MINUTES_OF_DAY - 1;
  if (second > 59 && !isLeapSecond) return undefined;
  // Date.UTC treats the years 0 to 99 as 1900 to 1999.
  return Date.UTC(year + 400, month - 1, day, 0, utcMinute, second, milliseconds(text)) - MS_OF_400_YEARS;
}

function twoDigits(text: string, at: number): number {
  return text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 0x30 * 11;
}

/** Digits beyond the third are cut off, not rounded: a rounded time may be in the next second. */
function milliseconds(text: string): number {
  if (text.charCodeAt(19) !== 0x2e) return 0;
  return Number(/^\d{1,3}/.exec(text.slice(20))?.[0].padEnd(3, "0"));
}

function offsetMinutes(text: string): number | undefined {
  const sign = text.charAt(text.length - 6);
  if (sign !== "+" && sign !== "-") return 0;
  const hours = twoDigits(text, text.length - 5);
  const minutes = twoDigits(text, text.length - 2);
  if (hours > 23 || minutes > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (hours * 60 + minutes);
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}
