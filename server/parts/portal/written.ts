import { basePath } from "../../api/endpoint.ts";
import { ApiError } from "../../api/errors.ts";
import { money } from "../../shared/browser/format.ts";
import { escapeHtml } from "../../shared/web-assets.ts";
import type {
  DatasetsAnswer,
  FacilitiesAnswer,
  FacilityAnswer,
  ProceduresAnswer,
} from "./browser/answers.ts";
import { type Choice, choiceOf, defaultProcedure, placeOf } from "./browser/choice.ts";
import { addressText, hospitalText } from "./browser/hospital-words.ts";
import { nothingText } from "./browser/nothing.ts";
import { titleOf } from "./browser/procedures.ts";
import {
  comparison,
  entryOf,
  isPriced,
  leastForQuartiles,
  mainClause,
  noHospital,
  ownClause,
  type Prices,
  pricesTitle,
  textOf,
  whatIsPaid,
  withoutPrice,
} from "./browser/words.ts";
import { caveatOf, htmlOf, noteOf, tableOf, type Written, written } from "./written-html.ts";

/**
 * Writes the numbers for a URL into the page, for link previews and browsers without JavaScript. In other browsers the
 * page's modules render the numbers again.
 */

type Query = Record<string, string | number | null>;
/** Reads an answer of the chosen data version, or below another base path. @throws ApiError */
type Ask = <T>(path: string, query?: Query, base?: string) => T;
type PricesAnswer = Prices & { source: { data_year: number; data_version: string; caveat: string } };

const listed = 10;

/**
 * Writes the numbers for a URL.
 * @param path the undecoded path of the Explore page, a hospital or a picture
 * @param read the function of `PagesContext` that answers requests
 */
export function write(
  path: string,
  parameters: URLSearchParams,
  read: (path: string, query: string) => unknown,
): Written {
  const choice = choiceOf({ searchParams: parameters });
  const { year, procedure } = choice;
  const base = year === null ? basePath : `${basePath}/versions/${encodeURIComponent(year)}`;
  const ask: Ask = <T>(below: string, query: Query = {}, from = base) => {
    const given = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== null) given.set(name, String(value));
    return read(from + below, String(given)) as T;
  };
  return path.startsWith("/facilities/")
    ? writeHospital(path, year, procedure, ask)
    : writePrices(path, parameters, choice, ask);
}

function writePrices(path: string, parameters: URLSearchParams, choice: Choice, ask: Ask): Written {
  const { state, near, year, from, to, sort, order, pinned } = choice;
  const place = placeOf(choice);
  const pricesOf = (code: string) =>
    near === null
      ? ask<PricesAnswer>(`/healthcare/procedures/${encodeURIComponent(code)}`, { state, bins: 1 })
      : aroundOf(
          ask<FacilitiesAnswer & PricesAnswer>("/healthcare/facilities", {
            ...{ procedure: code, ...place },
            limit: leastForQuartiles,
          }),
        );
  // The browser chooses the same procedure: the default, unless the nation has no price for it.
  const isUsual = () =>
    orNone(() => ask(`/healthcare/procedures/${defaultProcedure}`, { bins: 1 })) !== undefined;
  const most = () =>
    orNone(() => ask<ProceduresAnswer>("/healthcare/procedures", { sort: "facilities", limit: 1 }))?.data[0]
      ?.code;
  let code = choice.procedure ?? defaultProcedure;
  let answer: PricesAnswer;
  try {
    const usual = choice.procedure === null ? orNone(() => pricesOf(code)) : undefined;
    if (choice.procedure === null && usual === undefined && !isUsual()) code = most() ?? code;
    answer = usual ?? pricesOf(code);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return writeNothing(path, parameters, choice, code, error.param !== "near", ask);
  }
  const { procedure, source } = answer;
  const list = (query: Query) =>
    orNone(() => ask<FacilitiesAnswer>("/healthcare/facilities", { procedure: procedure.code, ...query }))
      ?.data ?? [];

  // Hospitals are read one by one, so that a missing hospital doesn't hide the rest.
  const own = pinned.flatMap((ccn) => {
    const found = orNone(() => ask<FacilityAnswer>(`/healthcare/facilities/${encodeURIComponent(ccn)}`));
    return found === undefined ? [] : [entryOf(found, procedure.code)];
  });
  // Around a ZIP code, a rank would need the prices of all hospitals there, so the clauses have none.
  const clauses = own.map((entry) => {
    const clause = isPriced(entry)
      ? ownClause(choice, answer, entry, near === null ? entry : {}, null)
      : [withoutPrice];
    const letter = "ABC"[pinned.findIndex((ccn) => ccn.toUpperCase() === entry.ccn)];
    const link = `<a href="${escapeHtml(hospitalPath(entry.ccn, year))}">${escapeHtml(entry.facility)}</a>`;
    return {
      text: entry.facility + textOf(clause),
      html: `<p class="under"><b class="letter">${letter}</b> ${link}${htmlOf(clause)}</p>`,
    };
  });
  const clause = mainClause(choice, answer);
  const paid = whatIsPaid(source.data_year, answer.summary.median_allowed, answer.summary.facilities > 1);
  const under = `${clauses.map(({ html }) => html).join("")}<p class="under">${escapeHtml(paid)}</p><p class="under quiet">${escapeHtml(comparison(answer))}</p>`;
  const title = pricesTitle(procedure, choice, source.data_year);
  const rows = list({ ...place, min_charge: from, max_charge: to, sort, order, limit: listed });
  return written(
    title,
    [textOf(clause), ...clauses.map(({ text }) => text), caveatOf(source)].filter(Boolean).join(" "),
    `<h1>${htmlOf(clause)}</h1>${path.startsWith("/embed") ? "" : under}`,
    [
      noteOf(source),
      tableOf(
        `The first hospitals of the list, data version ${source.data_version}`,
        ["Hospital", "Charge", "Medicare allows"],
        rows
          .filter(isPriced)
          .map((row) => [
            { href: hospitalPath(row.ccn, year), text: row.facility, more: `${row.city}, ${row.state}` },
            money(row.submitted_charge),
            money(row.medicare_allowed),
          ]),
      ),
    ],
  );
}

/** Converts an answer about a ZIP code to prices. Adds the range of allowed amounts if the answer has all hospitals. */
function aroundOf(answer: FacilitiesAnswer & PricesAnswer): PricesAnswer {
  const amounts = answer.data.filter(isPriced).map(({ medicare_allowed }) => medicare_allowed);
  const isAll = amounts.length === answer.summary.facilities;
  return isAll ? { ...answer, allowed: { min: Math.min(...amounts), max: Math.max(...amounts) } } : answer;
}

function writeNothing(
  path: string,
  parameters: URLSearchParams,
  choice: Choice,
  code: string,
  isZipKnown: boolean,
  ask: Ask,
): Written {
  const nation = orNone(() =>
    ask<PricesAnswer>(`/healthcare/procedures/${encodeURIComponent(code)}`, { bins: 1 }),
  );
  const found = orNone(() =>
    ask<FacilitiesAnswer>("/healthcare/facilities", {
      procedure: code,
      ...placeOf(choice),
      status: "all",
      limit: 100,
    }),
  );
  // Words may find a group, but pages take codes only.
  const unpriced = found?.procedure?.code === code ? found : undefined;
  const datasets = orNone(() => ask<DatasetsAnswer>("/datasets", {}, basePath))?.data ?? [];
  const known = unpriced ?? nation;
  const { title, why, ways } = nothingText({
    ...{ choice, code, isZipKnown, datasets, unpriced: unpriced ?? null },
    official: known?.procedure?.name,
    version: nation?.source.data_version,
  });
  const links = ways.map(({ text, changes }) => {
    const query = new URLSearchParams(parameters);
    for (const [name, value] of Object.entries(changes ?? {}))
      if (value === null) query.delete(name);
      else query.set(name, value);
    return `<a href="${escapeHtml(changes === null ? "/" : `${path}?${query}`)}">${text}</a>`;
  });
  const tab = known?.procedure
    ? pricesTitle({ code, name: known.procedure.name }, choice, known.source.data_year)
    : title;
  return written(
    tab,
    `${title}. ${why}`,
    `<h1>${escapeHtml(title)}.</h1><p class="under">${escapeHtml(why)} ${links.join(" · ")}</p>`,
    [noteOf({ caveat: known?.source.caveat ?? datasets[0]?.caveat ?? "" })],
  );
}

function writeHospital(path: string, year: string | null, procedure: string | null, ask: Ask): Written {
  const answer = orNone(() => ask<FacilityAnswer>(`/healthcare${path}`));
  if (answer === undefined) {
    const why = noHospital(path.slice("/facilities/".length), year);
    const sentence = `<h1>Nothing was found.</h1><p class="under">${escapeHtml(why)} <a href="/">Explore what there is</a></p>`;
    return written("Nothing was found", why, sentence, [], true);
  }
  const { facility, data, source } = answer;
  const text = hospitalText(answer, procedure);
  const explore = (code: string) =>
    `/?${new URLSearchParams({ ...(year !== null && { year }), procedure: code, with: facility.ccn })}`;
  return written(
    facility.facility,
    [`${addressText(answer)}. ${text}`, caveatOf(source)].filter(Boolean).join(" "),
    `<div><h1>${escapeHtml(facility.facility)}</h1><p class="under quiet">${escapeHtml(addressText(answer))}</p><p class="under">${escapeHtml(text)}</p></div>`,
    [
      noteOf(source),
      tableOf(
        `What it charges, ${source.data_year}`,
        ["Procedure", "Charge", "Nation's median", "Medicare allows"],
        data.map((row) => [
          { href: explore(row.code), text: titleOf(row) },
          money(row.submitted_charge),
          money(row.national.median_charge),
          money(row.medicare_allowed),
        ]),
      ),
    ],
    true,
  );
}

const hospitalPath = (ccn: string, year: string | null) =>
  `/facilities/${ccn}${year === null ? "" : `?${new URLSearchParams({ year })}`}`;

function orNone<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
