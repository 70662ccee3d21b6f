import { useEffect } from "preact/hooks";
import { html } from "../../../../shared/browser/html.ts";
import type { Dataset } from "../answers.ts";
import { type Failure, unlessFailed, writtenAt } from "../api.ts";
import { choiceOf } from "../choice.ts";
import { Controls } from "../controls.ts";
import { knownOf, load, type PartProps, type View } from "../explore-data.ts";
import { Facilities } from "../facilities.ts";
import { ErrorBand, useDatasets, useLoaded, WarningBand } from "../load.ts";
import { start } from "../main.ts";
import { Charges, States, Years } from "../pictures.ts";
import { Chips, Reading, Sentence, titleText } from "../sentence.ts";
import { tabTitle } from "../words.ts";

/**
 * Shows a procedure's prices in a sentence, in pictures and as a list. A page below `/embed/` has the sentence and one
 * picture, for frames on other sites. The URL holds every choice.
 */

const embedded: Readonly<Record<string, typeof Charges>> = { charges: Charges, states: States, years: Years };

function Page({ url }: { url: URL }) {
  const choice = choiceOf(url);
  const loaded = useLoaded(JSON.stringify(choice), () => load(choice));
  const { view, failure, isLate, isOld } = loaded;
  const datasets = useDatasets(view !== null);
  const title = view && titleText(view);
  useEffect(() => {
    if (title) document.title = tabTitle(title);
  }, [title]);
  const [, isEmbedded, picture = "charges"] = /^\/(embed)(?:\/(\w+))?$/.exec(url.pathname) ?? [];
  if (isEmbedded)
    return html`<div class="embed">
      ${view ? html`<${Alone} picture=${embedded[picture]} view=${view} datasets=${datasets} search=${url.search} />` : html`<${Written} url=${url} /><${ErrorBand} of=${loaded} />`}
    </div>`;
  const shown = isOld ? (title ?? undefined) : undefined;
  return html`<div class=${`explore ${isLate || isOld ? "late" : ""}`} aria-busy=${isLate}>
    <${Controls} choice=${choice} view=${view} datasets=${datasets} />
    <${ErrorBand} of=${loaded} shown=${shown} />
    ${shown && !failure && html`<p class="still" role="status">Still showing ${shown}…</p>`}
    ${view ? html`<${Shown} view=${view} datasets=${datasets} />` : html`<${Blank} url=${url} failure=${failure} />`}
  </div>`;
}

const Written = ({ url }: { url: URL }) =>
  html`<div class="sentence" dangerouslySetInnerHTML=${{ __html: writtenAt(url) }}></div>`;

/** Reserves the page's layout before the first answer, so that nothing moves when it arrives. */
function Blank({ url, failure }: { url: URL; failure: Failure | null }) {
  if (failure)
    return html`<div class="sentence"><h1>What hospitals charge</h1><p class="under quiet">No numbers can be shown until this is solved.</p></div>`;
  return html`<${Written} url=${url} />
    <div class="pictures" aria-hidden="true">
      <div class="card blank"></div>
      <div class="card blank"></div>
    </div>`;
}

function Shown({ view, datasets }: PartProps) {
  const scope = unlessFailed(view.scope);
  // The sentence is there before the first answer and must not move, so the warning comes below it.
  return html`<div class="sentence" aria-live="polite">
      <${Sentence} view=${view} datasets=${datasets} />
      <${Chips} view=${view} />
    </div>
    <${WarningBand} caveat=${caveatOf(view, datasets)} />
    <div class="pictures">
      <${Charges} view=${view} datasets=${datasets} />
      <${States} view=${view} datasets=${datasets} />
      ${scope && html`<${Facilities} view=${view} scope=${scope} />`}
      <${Years} view=${view} datasets=${datasets} />
      ${scope && html`<${Reading} scope=${scope} view=${view} datasets=${datasets} />`}
    </div>`;
}

/** The caveat of the numbers shown or, without numbers, of the newest data. */
const caveatOf = (view: View, [newest]: Dataset[]) => knownOf(view)?.source.caveat ?? newest?.caveat;

interface AloneProps {
  picture: typeof Charges;
  view: View;
  datasets: Dataset[];
  search: string;
}

function Alone({ picture, view, datasets, search }: AloneProps) {
  return html`<div class="sentence"><${Sentence} view=${view} datasets=${datasets} /></div>
    <${WarningBand} caveat=${caveatOf(view, datasets)} />
    <${picture} view=${view} datasets=${datasets} />
    <p class="quiet small"><a href=${`/${search}`} target="_blank">${tabTitle(titleText(view))}</a></p>`;
}

start(Page);
