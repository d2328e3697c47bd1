/** Returns the number in E.164 form, or the problem with it. */
export type NormaliseNumber = (
  text: string,
  defaultCountry: string | undefined,
) => { number: string; problem?: undefined } | { problem: string };

/**
 * The package is loaded at first use, because it contains the numbering plans of the world. It checks the length and
 * not the ranges of numbers, because networks open new ranges faster than packages are updated.
 */
export async function loadPhoneNumbers(): Promise<NormaliseNumber> {
  const { parsePhoneNumberFromString, isSupportedCountry } = await import("libphonenumber-js/min");
  return (text, country) => {
    const shown = JSON.stringify(text.slice(0, 40));
    const isKnown = country !== undefined && isSupportedCountry(country);
    const parsed = parsePhoneNumberFromString(text, {
      ...(isKnown && { defaultCountry: country }),
      extract: false,
    });
    if (parsed?.isPossible() === true && parsed.ext === undefined) return { number: parsed.number };
    const hint = text.trim().startsWith("+") || isKnown ? "" : ", or set default_country";
    return {
      problem: `${shown} is not a phone number; write it with its country code, for example +491511234567${hint}`,
    };
  };
}
