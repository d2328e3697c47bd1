import { expect, it } from "vitest";
import { describeSpan } from "../../../src/model/alert.ts";

it.each([
  [0, "0 s"],
  [5.2, "5.2 s"],
  [59, "59 s"],
  [60, "1 min"],
  [320.7, "5 min 20 s"],
  [3600, "1 h"],
  [86_786, "24 h 6 min"],
  [172_799, "47 h 59 min"],
  [172_800, "2 d"],
  [273_599, "3 d 3 h"],
])("%d seconds are %s", (seconds, text) => {
  expect(describeSpan(seconds)).toBe(text);
});
