import { describe, expect, it } from "vitest";
import { createPartStack } from "../../../src/model/part-stack.ts";

describe("the stack of parts", () => {
  it("closes them in reverse, one after the other", async () => {
    const stack = createPartStack();
    const closed: string[] = [];
    for (const name of ["first", "second", "third"]) {
      stack.add(async () => {
        await new Promise(setImmediate);
        closed.push(name);
      });
    }
    await stack.close();
    expect(closed).toEqual(["third", "second", "first"]);
  });

  it("closes the others when one fails, and tells the first fault", async () => {
    const stack = createPartStack();
    const closed: string[] = [];
    stack.add(() => void closed.push("first"));
    stack.add(() => Promise.reject(new Error("second")));
    stack.add(() => {
      throw new Error("third");
    });
    await expect(stack.close()).rejects.toThrow("third");
    expect(closed).toEqual(["first"]);
  });

  it("closes each once, however often it is told to", async () => {
    const stack = createPartStack();
    let times = 0;
    stack.add(() => void times++);
    await Promise.all([stack.close(), stack.close()]);
    expect(times).toBe(1);
  });
});
