import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { PROJECT_ROOT } from "../sample-checkout.ts";
import { listAnchors, listLinks, type Page } from "./markdown.ts";

/** Relative links whose file or heading is missing. Addresses elsewhere are not asked. */
export function findBrokenLinks({ path, text }: Page): readonly string[] {
  return listLinks(text).flatMap((link) => {
    if (/^[a-z]+:/i.test(link)) return [];
    const [file = "", anchor] = link.split("#");
    const target = normalize(join(dirname(path), decodeURIComponent(file)));
    const fault = file === "" ? findMissingHeading(path, text, anchor) : findFault(target, anchor);
    return fault === undefined ? [] : [`${path}: ${link}: ${fault}`];
  });
}

function findFault(target: string, anchor: string | undefined): string | undefined {
  const file = join(PROJECT_ROOT, target);
  if (target.startsWith("..") || !existsSync(file)) return `there is no ${target}`;
  if (anchor === undefined) return undefined;
  if (statSync(file).isDirectory()) return `${target} is a folder and has no headings`;
  return findMissingHeading(target, readFileSync(file, "utf8"), anchor);
}

function findMissingHeading(path: string, text: string, anchor = ""): string | undefined {
  return listAnchors(text).has(anchor) ? undefined : `${path} has no heading #${anchor}`;
}
