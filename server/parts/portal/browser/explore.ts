import { useEffect } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { type Ask, type Failure, unlessFailed } from "./answers.ts";
import { viewNow, viewOnce } from "./api.ts";
import { type Choice, choiceOf, isHome } from "./choice.ts";
import { context } from "./context.ts";
import { Controls } from "./controls.ts";
import { addressOf, knownOf, type View, viewOf } from "./explore-data.ts";
import { descriptionOf, wordsOf } from "./explore-words.ts";
import { Facilities } from "./facilities.ts";
import { ErrorBand, useLoaded, useTitle } from "./load.ts";
import { settle, useDrawn, useScrollToHash } from "./location.ts";
import { Charges, Compared, type PictureProps, States, Years } from "./pictures.ts";
import { Chips, Reading, Sentence } from "./sentence.ts";
import { NeedsScript, PicturesNote } from "./without-script.ts";
import { exampleText, introText, tabTitle } from "./words.ts";

/**
 * Shows a procedure's prices in a sentence, in pictures and as a list. The page `/embed`, or a page below it, has the
 * sentence and one picture or the list, for frames on other sites.
 */

const embedded: Readonly<Record<string, typeof Charges>> = {
  ...{ charges: Charges, states: States, years: Years },
  hospitals: Hospitals,
};

export function Explore({ url }: { url: URL }) {
  const choice = choiceOf(url);
  const make = (ask: Ask) => viewOf(choice, ask);
  const loaded = useLoaded(
    JSON.stringify(choice),
    () => viewOnce(make),
    () => viewNow(make),
    (view) => JSON.stringify({ ...view.choice, ...addressOf(view) }),
  );
  const { view, failure, isLate, isOld, isShown } = loaded;
  const words = view && wordsOf(view);
  const title = words?.title || words?.nothing?.title;
  useTitle(title, () => (view && words ? descriptionOf(view, words) : ""));
  const meant = view && meantBy(choice, view);
  if (meant) context.means(meant);
  const [, isEmbedded, picture = "charges"] = /^\/(embed)(?:\/(\w+))?$/.exec(url.pathname) ?? [];
  // When a view is shown, its data versions enter the URL, as in a copied link. Words that are taken for one procedure
  // become its code.
  useEffect(() => {
    if (isEmbedded || !isShown || view === null || knownOf(view) === null || isHome(choice)) return;
    // The visitor may have chosen something else since the view was drawn.
    if (location.search !== url.search) return;
    settle({ ...meant, ...addressOf(view) });
  }, [view, isShown]);
  if (isEmbedded)
    return html`<div class="embed">
      ${view && words ? html`<${Alone} picture=${embedded[picture]} view=${view} words=${words} search=${url.search} />` : html`<${Blank} failure=${failure} /><${ErrorBand} of=${loaded} />`}
      <${PicturesNote} />
    </div>`;
  const shown = isOld ? title : undefined;
  return html`<div class=${`explore ${isLate || isOld ? "late" : ""}`} aria-busy=${isLate}>
    ${isHome(view?.choice ?? choice) && html`<p class="intro">${introText}</p>`}
    <${Controls} choice=${isShown && view ? view.choice : choice} view=${view} words=${choice.words} isBlank=${!view && !failure} />
    <${ErrorBand} of=${loaded} shown=${shown} />
    ${shown && !failure && html`<p class="still" role="status">Still showing ${shown}…</p>`}
    ${view && words ? html`<${Shown} view=${view} words=${words} />` : html`<${Blank} failure=${failure} />`}
  </div>`;
}

/** Returns changes of the URL that replace its words by their meaning; null without words, or if they aren't clear. */
function meantBy({ words }: Choice, { choice: { state, near, words: unclear, typed }, code }: View) {
  return words === null || unclear !== null ? null : { q: typed, procedure: code, state, near };
}

/** Stands in for absent numbers. Reserves room for them while they are loaded, so that less moves when they arrive. */
function Blank({ failure }: { failure: Failure | null }) {
  return html`<div class="sentence"><h1>What hospitals charge</h1><p class="under quiet">${failure ? "No numbers can be shown until this is solved." : "Loading the numbers…"}</p></div>
    ${!failure && html`<div class="pictures" aria-hidden="true"><div class="card blank"></div></div>`}<${NeedsScript} />`;
}

function Shown({ view, words }: PictureProps) {
  const scope = unlessFailed(view.scope);
  useScrollToHash(scope !== null);
  const isNear = view.choice.near !== null;
  return html`<div class="sentence" aria-live="polite">
      ${isHome(view.choice) && html`<p class="under quiet">${exampleText}</p>`}
      <${Sentence} words=${words} view=${view} />
      <${Chips} view=${view} />
    </div>
    <div class="pictures">
      <${Compared} view=${view} words=${words} />
      <${Hospitals} view=${view} words=${words} />
      <${Charges} view=${view} words=${words} />
      ${!isNear && html`<${States} view=${view} />`}
      <${Years} view=${view} />
      ${scope && html`<${Reading} scope=${scope} view=${view} />`}
    </div>
    <${PicturesNote} />`;
}

function Hospitals({ view, words }: PictureProps) {
  const scope = unlessFailed(view.scope);
  return scope && html`<${Facilities} view=${view} words=${words} scope=${scope} />`;
}

interface AloneProps extends PictureProps {
  picture: typeof Charges;
  search: string;
}

function Alone({ picture, view, words, search }: AloneProps) {
  // The source above the link is drawn only by the script.
  const isDrawn = useDrawn();
  return html`<div class="sentence"><${Sentence} words=${words} view=${view} /></div>
    <${picture} view=${view} words=${words} />
    ${isDrawn && html`<p class="quiet small"><a href=${`/${search}`} target="_blank">${tabTitle(words.title)}</a></p>`}`;
}
