// Runs in the page before all of its scripts. Says how long after a click what was asked for could be seen.
const DATA = "tbody tr, ul li, dl > div, pre, details, .job, .list-foot";
/** What a page without data says, which a test does not want but must not wait for either. */
const NOTHING = ".empty, [role=alert]";
let startedAt = 0;
addEventListener("click", ({ timeStamp }) => (startedAt = timeStamp), true);

/** Rows of the page at this path, and no placeholder beside them. */
function isShown(path) {
  const main = document.querySelector("main");
  if (main === null || location.pathname + location.search !== path) return false;
  if (document.querySelector('nav [aria-current="page"]') === null) return false;
  return main.querySelector(".skeleton") === null && main.querySelector(`${DATA}, ${NOTHING}`) !== null;
}

/** Resolves with the milliseconds from the click to the frame that shows it. */
globalThis.watchUntilShown = (path) => {
  globalThis.shownAfterMs = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!isShown(path)) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - startedAt)));
    });
    observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  });
};

/** Goes there within the page, as a link would. */
globalThis.followLink = (path) => {
  startedAt = performance.now();
  history.pushState(null, "", path);
};

/** Milliseconds from the beginning of the navigation until the first field or link of the page can be used. */
const USABLE = "form input, nav[aria-label] a";
globalThis.interactiveAfterMs = new Promise((resolve) => {
  const look = () => {
    if (document.querySelector(USABLE) === null) requestAnimationFrame(look);
    // After everything that keeps the page from reacting.
    else setTimeout(() => resolve(performance.now()));
  };
  look();
});

let longTasksMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longTasksMs += duration;
}).observe({ type: "longtask", buffered: true });

globalThis.countLoaded = () => {
  const files = [...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")];
  return {
    longTasksMs,
    requests: files.length,
    bytes: files.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
  };
};
