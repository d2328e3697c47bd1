import { defineConfig } from "vite";

/** Built by scripts/build-dashboard.mjs, which says where to. */
export default defineConfig({
  oxc: { jsx: { runtime: "automatic" } },
  build: {
    target: "es2022",
    // A small picture in the page itself would need another policy than that for files.
    assetsInlineLimit: 0,
    license: { fileName: "THIRD-PARTY-LICENCES.md" },
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ["index.html", "reference.html"],
      // Of packages that may run on servers too; here everything is for the browser.
      onLog: (level, log, report) => log.code === "MODULE_LEVEL_DIRECTIVE" || report(level, log),
    },
  },
});
