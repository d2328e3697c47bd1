import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sign } from "../../../sdk/src/index.ts";
import { skipWithoutService } from "../../support/skip.ts";

/** The functions of docs/start/verify-a-delivery.md, run in their own languages against what the gateway sends. */

interface Language {
  /** Asked whether the language is there. */
  probe: [command: string, ...args: string[]];
  /** Calls the function with the body, the headers and the secret of three files; prints true or false. */
  main: { file: string; text: string };
  build?: [command: string, ...args: string[]];
  run: [command: string, ...args: string[]];
}

const LANGUAGES: Record<string, Language> = {
  "verify.py": {
    probe: ["python3", "--version"],
    main: {
      file: "main.py",
      text: `import json
from verify import verify
print(str(verify(open("body", "rb").read(), json.load(open("headers.json")), open("secret").read())).lower())
`,
    },
    run: ["python3", "main.py"],
  },
  "verify.go": {
    probe: ["go", "version"],
    main: {
      file: "main.go",
      text: `package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

func main() {
	body, _ := os.ReadFile("body")
	secret, _ := os.ReadFile("secret")
	text, _ := os.ReadFile("headers.json")
	headers := map[string]string{}
	json.Unmarshal(text, &headers)
	header := func(name string) string { return headers[name] }
	fmt.Println(Verify(body, header, string(secret), 5*time.Minute))
}
`,
    },
    build: ["go", "build", "-o", "main", "verify.go", "main.go"],
    run: ["./main"],
  },
  "Verify.java": {
    probe: ["javac", "-version"],
    main: {
      file: "Main.java",
      text: `import java.nio.file.*;
import java.util.*;

public class Main {
  public static void main(String[] args) throws Exception {
    Map<String, String> headers = new HashMap<>();
    for (String line : Files.readAllLines(Path.of("headers.txt"))) {
      String[] parts = line.split(": ", 2);
      headers.put(parts[0], parts[1]);
    }
    byte[] body = Files.readAllBytes(Path.of("body"));
    System.out.println(Verify.verify(body, headers, Files.readString(Path.of("secret")), 300));
  }
}
`,
    },
    build: ["javac", "Verify.java", "Main.java"],
    run: ["java", "-cp", ".", "Main"],
  },
  "verify.php": {
    probe: ["php", "--version"],
    main: {
      file: "main.php",
      text: `<?php
require 'verify.php';
$headers = json_decode(file_get_contents('headers.json'), true);
echo verify(file_get_contents('body'), $headers, file_get_contents('secret')) ? 'true' : 'false';
`,
    },
    run: ["php", "main.php"],
  },
  "verify.rb": {
    probe: ["ruby", "--version"],
    main: {
      file: "main.rb",
      text: `require "json"
require_relative "verify"
puts verify(File.binread("body"), JSON.parse(File.read("headers.json")), File.read("secret"))
`,
    },
    run: ["ruby", "main.rb"],
  },
};

const PAGE = readFileSync("docs/start/verify-a-delivery.md", "utf8");
const BLOCKS = new Map(
  [...PAGE.matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)].map(([, file = "", code = ""]) => [file, code]),
);

const SECRETS = {
  generated: `whsec_${Buffer.alloc(32, 9).toString("base64")}`,
  "of one's own": "partner secret 2024!",
};
const HOSTILE = [
  ["webhook-signature", "v1,é"],
  ["webhook-signature", "v1,\u0000"],
  ["webhook-id", "é"],
  ["webhook-timestamp", "é"],
  ["webhook-timestamp", "9".repeat(40)],
] as const;
const BODY = '{"n":12345678901234567890,"text":"Grüße"}';

it("has a test for each function of the page", () => {
  expect([...BLOCKS.keys()].toSorted()).toEqual(Object.keys(LANGUAGES).toSorted());
});

describe.each(Object.entries(LANGUAGES))("%s", (file, { probe, main, build, run }) => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "posthorn-languages-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function call([command, ...args]: readonly [string, ...string[]]): string {
    const env = { ...process.env, GO111MODULE: "off" };
    return execFileSync(command, args, { cwd: folder, encoding: "utf8", env }).trim();
  }

  function verdict(body: string, headers: Record<string, string>, secret: string): string {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const files = { body, secret, "headers.json": JSON.stringify(headers), "headers.txt": lines.join("\n") };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return call(run);
  }

  it("takes what is genuine and rejects the rest", async (context) => {
    const [command, ...args] = probe;
    if (spawnSync(command, args).status !== 0) skipWithoutService(context, command);
    writeFileSync(join(folder, file), BLOCKS.get(file) ?? "");
    writeFileSync(join(folder, main.file), main.text);
    if (build !== undefined) call(build);

    for (const secret of Object.values(SECRETS)) {
      expect(verdict(BODY, await sign(BODY, [SECRETS.generated, secret]), secret)).toBe("true");
    }
    const genuine = await sign(BODY, SECRETS.generated);
    expect(verdict(`${BODY} `, genuine, SECRETS.generated)).toBe("false");
    expect(verdict(BODY, genuine, SECRETS["of one's own"])).toBe("false");
    expect(verdict(BODY, { ...genuine, "webhook-id": "evt_another" }, SECRETS.generated)).toBe("false");
    const old = await sign(BODY, SECRETS.generated, { sentAt: new Date(Date.now() - 301_000) });
    expect(verdict(BODY, old, SECRETS.generated)).toBe("false");
    expect(verdict(BODY, {}, SECRETS.generated)).toBe("false");
    // Whatever a stranger sends is refused, never an error.
    for (const [name, value] of HOSTILE) {
      expect([name, value, verdict(BODY, { ...genuine, [name]: value }, SECRETS.generated)]).toEqual([
        name,
        value,
        "false",
      ]);
    }
  });
});
