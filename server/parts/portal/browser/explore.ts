import { useEffect, useState } from "preact/hooks";
import { counted, printable, times, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { Dataset, DatasetsAnswer, ProcedureAnswer, ProceduresAnswer, SearchAnswer } from "./answers.ts";
import { Failure } from "./api.ts";
import { ask, pathOf } from "./ask.ts";
import { ErrorBand, SampleBand } from "./bands.ts";
import { Card } from "./card.ts";
import { Chooser, type Option } from "./chooser.ts";
import { Command, curlOf } from "./curl.ts";
import {
  type Choice,
  choiceOf,
  defaultProcedure,
  load,
  pricedAmong,
  there,
  type Unpriced,
  type View,
} from "./explore-data.ts";
import { Facilities } from "./facilities.ts";
import { noFacility } from "./facility.ts";
import { Histogram, histogramFigures } from "./histogram.ts";
import { useLoaded } from "./load.ts";
import { go, withParameters } from "./location.ts";
import { mapFigures, StatesMap } from "./map.ts";
import { Sentence } from "./sentence.ts";
import { stateInSentence, stateName, states } from "./states.ts";
import { Trend, trendFigures } from "./trend.ts";

/** Shows a procedure's prices in a sentence and in pictures. The address has what is chosen. */

/** Changes the choice. A range is dropped, because another procedure, state or year has other bars. */
const choose = (changes: Partial<Record<keyof Choice, string | null>>) =>
  go(withParameters("facility" in changes ? changes : { from: null, to: null, ...changes }));

export function Explore({ url }: { url: URL }) {
  const choice = choiceOf(url);
  const { view, failure, isLate, isOld, retry } = useLoaded(JSON.stringify(choice), (signal) =>
    load(choice, signal),
  );
  const [datasets, setDatasets] = useState<Dataset[]>([]);
  const isThere = view !== null;
  useEffect(() => {
    // Fetched after the pictures. A failure shows with the next view.
    if (isThere)
      ask<DatasetsAnswer>(pathOf("/datasets")).then(
        ({ data }) => setDatasets(data),
        () => {},
      );
  }, [isThere]);
  const answer = view && there(view.scope);
  const known = answer ?? (view && there(view.nation));
  const name = known?.procedure.name ?? view?.unpriced?.name;
  useEffect(() => {
    if (name === undefined) return;
    const where = view?.choice.state ? ` in ${stateInSentence(view.choice.state)}` : "";
    document.title = `${name}${where} – What hospitals charge`;
  }, [name, view]);
  const dataset = datasets.find(({ data_version }) => data_version === known?.source.data_version);
  const shown = isOld && view ? shownText(view) : undefined;
  return html`<div class=${`explore ${isLate || isOld ? "late" : ""}`} aria-busy=${isLate}>
    <${Controls} choice=${choice} view=${view} datasets=${datasets} nation=${view && there(view.nation)} />
    ${failure && html`<${ErrorBand} failure=${failure} retry=${retry} shown=${shown} isBlank=${view === null} />`}
    ${shown && !failure && html`<p class="still" role="status">Still showing ${shown}…</p>`}
    ${view ? html`<${Pictures} view=${view} dataset=${dataset} datasets=${datasets} />` : html`<${Blank} failure=${failure} />`}
  </div>`;
}

function shownText(view: View): string {
  const { choice, code, unpriced } = view;
  const name = known(view)?.procedure.name ?? unpriced?.name ?? "";
  const year = known(view)?.source.data_year ?? unpriced?.year ?? choice.year;
  const where = choice.state ? stateInSentence(choice.state) : "the whole nation";
  return `${printable(code)} ${name} in ${printable(where)}${year === null ? "" : `, ${year}`}`;
}

/** The layout before the first answer, so that nothing moves then. `pages.ts` writes the same text into the page. */
function Blank({ failure }: { failure: Failure | null }) {
  if (failure)
    return html`<div class="sentence"><h1>What hospitals charge</h1><p class="under quiet">No numbers can be shown until this is solved.</p></div>`;
  return html`<div class="sentence"><h1>What hospitals charge</h1><p class="under quiet">What each US hospital charges for an outpatient procedure, and what Medicare allows. Loading the numbers…</p></div>
    <div class="pictures" aria-hidden="true">
      <div class="card blank"></div>
      <div class="card blank"></div>
    </div>`;
}

interface ControlsProps {
  choice: Choice;
  view: View | null;
  datasets: Dataset[];
  nation: ProcedureAnswer | null;
}

function Controls({ choice, view, datasets, nation }: ControlsProps) {
  const { state, year } = choice;
  const code = choice.procedure ?? view?.code ?? defaultProcedure;
  const name = view?.code === code ? (nation?.procedure.name ?? view.unpriced?.name) : undefined;
  const facility = view && there(view.facility);
  const priced = new Set(nation?.data.map((row) => row.state));
  const years = [...new Set(datasets.map(({ data_year }) => data_year))].sort(d3.descending);
  const shownYear = year ?? String(known(view)?.source.data_year ?? view?.unpriced?.year ?? years[0] ?? "");
  const findProcedure = async (text: string, signal: AbortSignal): Promise<Option[]> => {
    const all = await ask<ProceduresAnswer>(
      pathOf("/healthcare/procedures", { sort: "spread", limit: 100, state }, year),
      signal,
    );
    const optionOf = (procedure: { code: string; name: string }): Option => {
      const row = all.data.find((each) => each.code === procedure.code);
      const detail = row
        ? `dearest ${times(row.spread)} the cheapest · ${counted(row.facilities, "facility", "facilities")}`
        : undefined;
      return { id: procedure.code, title: `${procedure.code} · ${procedure.name}`, detail };
    };
    if (text === "") return all.data.map(optionOf);
    const path = pathOf("/search", { q: text, type: "procedure", limit: 50 }, year);
    const { data } = await ask<SearchAnswer>(path, signal);
    return data.flatMap((found) => (found.type === "procedure" ? [optionOf(found)] : []));
  };
  const findFacility = async (text: string, signal: AbortSignal): Promise<Option[]> => {
    if (text === "") throw new Error("Write a name, a city or a ZIP code.");
    const path = pathOf("/search", { q: text, limit: 20 }, year);
    const { data } = await ask<SearchAnswer>(path, signal);
    const ccns = data.flatMap((found) => (found.type === "facility" ? [found.ccn] : []));
    // With one that has a price: browsers write an answer that nothing is found to their consoles.
    const cheapest = there(view?.prices ?? null)?.data[0]?.ccn ?? [];
    const pricedHere = await pricedAmong(ccns.concat(cheapest), code, year, signal);
    const more = (ccn: string) =>
      pricedHere && !pricedHere.has(ccn) ? " · no price for this procedure" : "";
    return data.flatMap((found) =>
      found.type === "facility"
        ? [
            {
              id: found.ccn,
              title: found.facility,
              detail: `${found.city}, ${found.state}${more(found.ccn)}`,
            },
          ]
        : [],
    );
  };
  const select = (event: Event & { currentTarget: HTMLSelectElement }) => event.currentTarget.value || null;
  return html`<search class="controls">
    <${Chooser}
      class="procedure"
      label="Procedure group"
      value=${name === undefined ? code : `${code} · ${name}`}
      find=${findProcedure}
      choose=${(procedure: string) => choose({ procedure })}
    />
    <div class="field">
      <label for="state">Where</label>
      <select id="state" value=${state ?? ""} onChange=${(event: Event & { currentTarget: HTMLSelectElement }) => choose({ state: select(event) })}>
        <option value="">Whole nation</option>
        ${Object.entries(states)
          .sort(([, a], [, b]) => d3.ascending(a.name, b.name))
          .map(
            ([each, { name }]) =>
              html`<option value=${each} selected=${each === state}>${name}${nation && !priced.has(each) ? " (no prices)" : ""}</option>`,
          )}
        ${state && !(state in states) && html`<option value=${state} selected>${state}</option>`}
      </select>
    </div>
    <div class="field">
      <label for="year">Year</label>
      <select id="year" value=${shownYear} onChange=${(event: Event & { currentTarget: HTMLSelectElement }) => choose({ year: Number(select(event)) === years[0] ? null : select(event) })}>
        ${(years.length > 0 ? [...new Set([...years.map(String), shownYear])] : [shownYear]).map(
          (each) => html`<option value=${each} selected=${each === shownYear}>${each || "newest"}</option>`,
        )}
      </select>
    </div>
    <${Chooser}
      class="hospital"
      label="Your hospital"
      placeholder="find…"
      value=${choice.facility === null ? null : (facility?.facility.facility ?? choice.facility)}
      find=${findFacility}
      choose=${(ccn: string) => choose({ facility: ccn })}
      clear=${() => choose({ facility: null })}
    />
  </search>`;
}

const known = (view: View | null) => view && (there(view.scope) ?? there(view.nation));

interface PicturesProps {
  view: View;
  dataset: Dataset | undefined;
  datasets: Dataset[];
}

function Pictures({ view, dataset, datasets }: PicturesProps) {
  const { choice, code, paths } = view;
  const scope = there(view.scope);
  const nation = there(view.nation);
  const prices = there(view.prices);
  const trends = there(view.trends);
  const facility = there(view.facility);
  const row = facility?.data.find((each) => each.code === code);
  const marked = facility && row ? { name: facility.facility.facility, row } : null;
  const hasFew = prices !== null && prices.next === null;
  const place = choice.state ? `-${choice.state}` : "";
  const yearOf = (answer: ProcedureAnswer) => answer.source.data_version;
  const name = (answer: ProcedureAnswer, what: string) => `${what}-${yearOf(answer)}-${code}${place}`;
  // The band is below everything that was on screen before the first answer, so that nothing moves.
  return html`<div class="sentence" aria-live="polite">
      ${
        scope
          ? html`<${Sentence} answer=${scope} standing=${facility} />`
          : html`<${Nothing} view=${view} dataset=${dataset} datasets=${datasets} />`
      }
      ${view.facility instanceof Failure && choice.facility && html`<p class="under">${noFacility(choice.facility)}</p>`}
    </div>
    <${SampleBand} caveat=${known(view)?.source.caveat} />
    <div class="pictures">
      ${
        scope &&
        html`<${Card}
          title="How charges are spread"
          about=${`${hasFew ? "a dot for each facility" : "facilities"} by what ${hasFew ? "it charges" : "they charge"}; below, on the same logarithmic scale, what Medicare allows. ${scope.summary.facilities > 3 ? "Shaded: the middle half." : ""}`}
          name=${name(scope, "charges")}
          figures=${histogramFigures(scope, prices)}
          path=${paths.scope}
        >
          <${Histogram} answer=${scope} prices=${prices} marked=${marked} mark=${(ccn: string) => choose({ facility: ccn })}
            range=${view.range} list=${(from: number | null, to: number | null) => choose({ from: from === null ? null : String(from), to: to === null ? null : String(to) })} />
        <//>`
      }
      ${
        nation &&
        html`<${Card}
          title="Where it costs more"
          about="median charge by state"
          name=${`states-${yearOf(nation)}-${code}`}
          figures=${mapFigures(nation, dataset)}
          path=${paths.nation}
        >
          <${StatesMap} answer=${nation} dataset=${dataset} state=${choice.state} choose=${(state: string | null) => choose({ state })} />
        <//>`
      }
    </div>
    ${
      scope &&
      prices &&
      html`<${Facilities}
        answer=${scope}
        prices=${prices}
        range=${view.range}
        all=${withParameters({ from: null, to: null })}
        path=${paths.prices}
        exportPath=${paths.export}
        marked=${facility}
        mark=${(ccn: string | null) => choose({ facility: ccn })}
        hrefOf=${(ccn: string) => `/facilities/${encodeURIComponent(ccn)}${choice.year ? `?year=${encodeURIComponent(choice.year)}` : ""}`}
      />`
    }
    <div class="pictures">
      ${
        trends &&
        html`<${Card}
          title=${`Over the years${choice.state ? `, ${stateName(choice.state)}` : ""}`}
          about="median charge with the middle half, and Medicare's median"
          name=${`years-${code}${place}`}
          figures=${trendFigures(trends.data)}
          path=${paths.trends}
        >
          <${Trend} years=${trends.data} />
        <//>`
      }
      ${scope && html`<${Reading} answer=${scope} dataset=${dataset} path=${paths.scope} />`}
    </div>`;
}

function Nothing({ view, dataset, datasets }: PicturesProps) {
  const { choice, code, unpriced } = view;
  const { state, year } = choice;
  const name = unpriced?.name ?? there(view.nation)?.procedure.name;
  const isState = state === null || state in states;
  const where = state !== null && isState ? ` in ${stateInSentence(state)}` : "";
  const isYear = datasets.some((one) => [String(one.data_year), one.data_version].includes(year ?? ""));
  const reason = dataset?.coverage.missing_states.find((each) => each.state === state)?.reason;
  const why = () => {
    if (!isState) return `There is no state “${printable(state)}”: choose one at “Where”.`;
    if (unpriced) return unpricedText(unpriced, where);
    if (year !== null && datasets.length > 0 && !isYear)
      return `There is no data of “${printable(year)}”: choose another year.`;
    if (name === undefined)
      return `The data has no procedure group “${printable(code)}”: choose one above, by its number or a word of its name.`;
    return reason
      ? `${reason[0].toUpperCase()}${reason.slice(1)}.`
      : `No facility${where} is in the data with it.`;
  };
  return html`<h1>${name && isState ? `No prices for ${name}${where}.` : "Nothing was found."}</h1>
    <p class="under">${why()}${" "}
      ${
        state === null
          ? html`<a href="/">See what there is</a>`
          : html`<a href=${withParameters({ state: null })}>See the whole nation</a>`
      }
    </p>`;
}

function unpricedText({ suppressed, incomplete }: Unpriced, where: string): string {
  const all = suppressed + incomplete;
  const reasons = [
    suppressed > 0 ? "suppressed by CMS (10 services or fewer)" : "",
    incomplete > 0 ? "incomplete" : "",
  ].filter(Boolean);
  const rows = all === 1 ? `Its only row${where} is` : `All ${whole(all)} rows of it${where} are`;
  return `${rows} ${reasons.join(" or ")}: ${all === 1 ? "this facility's charge isn't" : "these facilities' charges aren't"} published.`;
}

/** Explains what the pictures don't show, and names the source. */
function Reading({
  answer,
  dataset,
  path,
}: {
  answer: ProcedureAnswer;
  dataset: Dataset | undefined;
  path: string;
}) {
  const { rows, source } = answer;
  const isSynthetic = /synthetic/i.test(source.caveat);
  const all = rows.priced + rows.suppressed + rows.incomplete;
  const rowsText =
    all === rows.priced
      ? all === 1
        ? "Its only row in the data has a price."
        : `All ${whole(all)} rows of this procedure in the data have a price; none is suppressed.`
      : html`${whole(rows.priced)} of ${whole(all)} facilities that do it have a price.
          ${
            rows.suppressed > 0 &&
            html` <b>${counted(rows.suppressed, "more row is", "more rows are")} suppressed</b> by CMS, for 10 services or fewer in the year.`
          }
          ${rows.incomplete > 0 && ` ${counted(rows.incomplete, "row is", "rows are")} incomplete.`} Their charges aren't
          zero: they aren't published, and no figure counts them.`;
  return html`<section class="card reading" aria-labelledby="reading">
    <h2 id="reading">What this doesn't say</h2>
    <p><b>A charge is what a hospital bills, not what a patient pays.</b> Medicare pays by its own amounts, and insurers by contract.</p>
    <p>${rowsText}</p>
    ${!isSynthetic && html`<p class="quiet small">${source.caveat}</p>`}
    <p class="quiet small">
      ${dataset ? `${dataset.title}${dataset.released ? `, released ${dataset.released}` : ""}, ${dataset.publisher}. ` : ""}Version for citing:
      ${" "}<a href="/data">${source.data_version}</a>.
    </p>
    <h2>The same numbers, by the API</h2>
    <${Command} text=${curlOf(path)} />
  </section>`;
}
