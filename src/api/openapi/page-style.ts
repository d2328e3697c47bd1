export const PAGE_STYLE = `
:root { color-scheme: light dark; --bg: #fff; --fg: #1c2024; --dim: #5b6470; --line: #d9dde3; --soft: #f4f6f8;
  --link: #0b5cad; --get: #0b5cad; --post: #14713d; --put: #8a5300; --delete: #b3261e; --action: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171b; --fg: #e5e8ec; --dim: #9aa4b1; --line: #2e353e;
  --soft: #1c2127; --link: #7ab7ff; --get: #7ab7ff; --post: #6fcf97; --put: #e6b25e; --delete: #ff8a80; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 15px/1.55 system-ui, sans-serif; background: var(--bg); color: var(--fg); display: grid;
  grid-template-columns: 19rem minmax(0, 1fr); }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
code, pre { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: 1rem; background: var(--bg); padding: .5rem; z-index: 2; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.25rem 1rem; border-right: 1px solid var(--line);
  background: var(--soft); }
nav h2 { font-size: .75rem; letter-spacing: .05em; text-transform: uppercase; color: var(--dim); margin: 1.1rem 0 .25rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; gap: .5rem; padding: .15rem .25rem; color: var(--fg); font-size: .9rem; border-radius: 4px; }
nav li a:hover { background: var(--bg); text-decoration: none; }
nav .m { flex: 0 0 3.1rem; text-align: right; font-size: .68rem; padding-top: .18rem; }
.find { display: flex; gap: .5rem; } #menu { display: none; }
#search { flex: 1; min-width: 0; padding: .5rem .65rem; font: inherit; color: inherit; background: var(--bg); border: 1px solid var(--line);
  border-radius: 6px; }
#found { color: var(--dim); font-size: .85rem; min-height: 1.3rem; margin: .2rem 0 0; }
main { padding: 2rem clamp(1rem, 4vw, 3.5rem) 6rem; max-width: 66rem; }
h1 { margin: 0; font-size: 1.7rem; } .dim { color: var(--dim); }
h1 small { font-weight: 400; font-size: 1rem; color: var(--dim); }
section > h2 { margin: 3rem 0 0; font-size: 1.35rem; }
section > h2 + p { margin-top: .2rem; }
article { border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.25rem; margin: 1rem 0; }
h3 { margin: 0; font-size: 1.05rem; } h3 a { color: inherit; }
h4 { margin: 1rem 0 .3rem; font-size: .78rem; letter-spacing: .04em; text-transform: uppercase; color: var(--dim); }
.route { display: flex; flex-wrap: wrap; align-items: baseline; gap: .6rem; margin: .15rem 0 0; }
.route code { overflow-wrap: anywhere; }
.m { font: 700 .78rem ui-monospace, monospace; }
.get { color: var(--get); } .post { color: var(--post); } .put, .patch { color: var(--put); } .delete { color: var(--delete); }
.tag { font-size: .75rem; border: 1px solid var(--line); border-radius: 99px; padding: 0 .55rem; color: var(--dim); }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) minmax(0, 1fr); gap: .2rem 1.25rem; margin: 0; }
dt { overflow-wrap: anywhere; } dd { margin: 0; overflow-wrap: anywhere; }
dd i, dt i { color: var(--dim); font-style: normal; font-size: .9em; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem; margin: 0; overflow: auto; max-height: 24rem; }
button { font: .85rem system-ui, sans-serif; padding: .25rem .7rem; border: 1px solid var(--line); border-radius: 5px;
  background: var(--bg); color: var(--fg); cursor: pointer; } button:hover { border-color: var(--link); }
.bar { display: flex; justify-content: flex-end; gap: .4rem; padding: .3rem .4rem; background: var(--soft);
  border: 1px solid var(--line); border-bottom: 0; border-radius: 6px 6px 0 0; } .bar + pre { border-radius: 0 0 6px 6px; }
.why { margin: .4rem 0 0; color: var(--dim); } .bad { color: var(--delete); }
.body p { margin: .3rem 0; } .fields { padding: 0 .5rem; }
.inline { border-left: 2px solid var(--line); margin: .5rem 0; padding-left: .9rem; }
.try { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: .6rem 1rem; align-items: end;
  margin-top: .6rem; padding: .8rem .9rem; border: 1px solid var(--line); border-radius: 6px; }
.try label { font-size: .85rem; color: var(--dim); } .try code { color: var(--fg); }
.try input, .try select { display: block; width: 100%; margin-top: .15rem; padding: .35rem .5rem; font: inherit; color: var(--fg);
  background: var(--bg); border: 1px solid var(--line); border-radius: 5px; } .try .key { -webkit-text-security: disc; }
.try > button { justify-self: start; padding: .35rem 1.2rem; color: #fff; background: var(--action); border-color: var(--action); }
.try .output { grid-column: 1 / -1; min-width: 0; } .output p { margin: 0 0 .3rem; overflow-wrap: anywhere; } .output:empty { display: none; }
summary { cursor: pointer; } details { margin: .3rem 0; } details > pre, details > dl { margin: .4rem 0 .6rem; }
@media (max-width: 56rem) {
  body { display: block; }
  html { scroll-padding-top: 5.5rem; }
  nav { height: auto; padding: .6rem 1rem; border: 0; border-bottom: 1px solid var(--line); z-index: 1; }
  #menu { display: block; } #found { min-height: 0; }
  #contents { display: none; max-height: 70vh; overflow-y: auto; } nav.open #contents { display: block; }
  nav li a { padding: .45rem .25rem; } button { padding: .45rem .8rem; } .fields { padding: .2rem .6rem; }
  main { padding-top: 1.2rem; } input, select, #search { font-size: 16px !important; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin-bottom: .45rem; }
  article { padding: .9rem; }
}
@media (max-width: 56rem) and (scripting: none) { nav { position: static; } #contents { display: block; max-height: none; } #menu { display: none; } }
@media print { nav { display: none; } body { display: block; } }
`;
