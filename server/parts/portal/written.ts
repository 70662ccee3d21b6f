import { ApiError } from "../../api/errors.ts";
import { money, whole } from "../../shared/browser/format.ts";
import { escapeHtml } from "../../shared/web-assets.ts";
import { type Ask, Failure, isAbsence, type Known, type Priced, unlessFailed } from "./browser/answers.ts";
import { milesText } from "./browser/around.ts";
import { choiceOf, comparedText, nextShown, setParameters } from "./browser/choice.ts";
import { knownOf, type View, viewOf } from "./browser/explore-data.ts";
import { type ExploreWords, type Note, placeShown, versionNote, wordsOf } from "./browser/explore-words.ts";
import { addressText, hospitalText, hospitalViewOf } from "./browser/hospital-words.ts";
import { type Nothing, seeTitle, type Way } from "./browser/nothing.ts";
import { orderText, paysTitle, shareOf, textOf, titleOf } from "./browser/words.ts";
import {
  caveatOf,
  controlsOf,
  formOf,
  htmlOf,
  noteOf,
  tableOf,
  type Written,
  written,
  yearField,
} from "./written-html.ts";

/**
 * Writes the numbers for a URL into the page, for link previews and browsers without JavaScript. The page gets the same
 * answers, from which its script draws the pictures.
 */

/** Answers a request of a page. @throws ApiError */
type Read = (path: string, query: string) => object;

/**
 * Writes the numbers for a URL.
 * @param path the undecoded path of the Explore page, a hospital or a picture
 * @returns the page's texts, and whether the hospital of the path isn't in the data
 */
export function write(
  path: string,
  parameters: URLSearchParams,
  read: Read,
): Written & { isMissing: boolean } {
  const answers = new Map<string, object | Failure>();
  const answerAt = (target: string) => {
    const answer = answers.get(target) ?? answerOf(target, read);
    answers.set(target, answer);
    return answer;
  };
  const ask: Ask = <Answers extends object[]>(...paths: { [I in keyof Answers]: string }) =>
    paths.map(answerAt) as { [I in keyof Answers]: Answers[I] | Failure };
  const words = path.startsWith("/facilities/")
    ? writeHospital(path, parameters, ask)
    : writePrices(path, parameters, ask);
  const known: Known = {};
  for (const [target, answer] of answers)
    known[target] =
      answer instanceof Failure
        ? {
            failed: [
              answer.status,
              answer.type,
              answer.message,
              { param: answer.param, places: answer.places, absent: answer.absent },
            ],
          }
        : { answer };
  return { ...written(words, known), isMissing: "isMissing" in words };
}

/** @throws ApiError if not only the data is absent */
function answerOf(target: string, read: Read): object | Failure {
  const [path, query = ""] = target.split("?");
  try {
    return read(path, query);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, message, param, places, absent } = error;
    const failure = new Failure(Number.parseInt(status, 10), type, message, { param, places, absent });
    if (!isAbsence(failure)) throw error;
    return failure;
  }
}

function writePrices(path: string, asked: URLSearchParams, ask: Ask) {
  const view = viewOf(choiceOf({ searchParams: asked }), ask);
  const { choice } = view;
  const parameters = choice.words === null && view.search !== null ? meantIn(asked, view) : asked;
  const words = wordsOf(view);
  const source = knownOf(view)?.source ?? { caveat: view.datasets[0]?.caveat ?? "" };
  const group = knownOf(view)?.procedure;
  const controls = path.startsWith("/embed")
    ? ""
    : controlsOf({
        procedure: view.choice.words ?? (group ? titleOf(group) : view.code),
        detail: group ? `${view.code} · ${group.name}` : view.code,
        place: placeShown(choice, view.unknown),
        compared: comparedText(choice),
        year: choice.year ?? String(knownOf(view)?.source.data_year ?? ""),
      });
  if (words.found === null) return { controls, ...writeNothing(path, parameters, words, source) };
  const { main, also, share, own, paid, comparison } = words.found;
  const { year } = choice;
  const ownHtml = own.map(({ letter, ccn, name, clause }) => {
    const link =
      name === null
        ? ""
        : `<a class="further" href="${escapeHtml(hospitalPath(ccn, year, view.code))}">${escapeHtml(name)}</a>`;
    return `<p class="under"><b class="letter">${letter}</b> ${link}${htmlOf(clause)}</p>`;
  });
  const ownText = own.flatMap(({ name, clause }) => (name === null ? [] : [name + textOf(clause)]));
  const links = also?.ways.map((way) => linkHtml(path, parameters, way)).join(" · ");
  const alsoHtml = also ? `<p class="under small">${escapeHtml(also.text)} ${links}</p>` : "";
  const under = `${alsoHtml}<p class="under small">${escapeHtml(share)}</p>${ownHtml.join("")}<p class="under further">${escapeHtml(paid)}</p><p class="under further quiet">${escapeHtml(comparison)}</p>`;
  const { data_year, data_version } = unlessFailed(view.scope)?.source ?? { data_year: 0, data_version: "" };
  const isNear = choice.near !== null;
  const rowOf = ({
    ccn,
    facility,
    city,
    state,
    zip,
    distance,
    submitted_charge,
    medicare_allowed,
  }: Priced) => [
    { href: hospitalPath(ccn, year, view.code), text: facility, more: `${city}, ${state}` },
    ...(isNear ? [milesText(distance, zip === choice.near)] : []),
    money(shareOf(medicare_allowed, data_year)),
    money(medicare_allowed),
    money(submitted_charge),
  ];
  const { data, facilities } = view.list;
  const rows = data.slice(0, choice.shown);
  const next = nextShown(choice.shown);
  const more =
    rows.length < facilities && next > choice.shown
      ? `<p>${linkHtml(path, parameters, { text: `Show ${Math.min(next - rows.length, facilities - rows.length)} more`, changes: { shown: String(next) } })} of ${whole(facilities)}</p>`
      : "";
  return {
    controls,
    title: words.title,
    description: [textOf(main), ...ownText, words.note?.text, caveatOf(source)].filter(Boolean).join(" "),
    sentence: `${path.startsWith("/embed") ? "" : noteHtml(path, parameters, words.note, true)}<h1>${htmlOf(main)}</h1>${noteOf(source)}${path.startsWith("/embed") ? "" : noteHtml(path, parameters, words.note, false) + under}`,
    tables: [
      formOf(path),
      tableOf(
        `${rows.length < facilities ? "The first" : "All"} hospitals of the list${orderText(choice)}, data version ${data_version}`,
        ["Hospital", ...(isNear ? ["Miles"] : []), paysTitle, "Medicare allows", "Charge"],
        rows.map(rowOf),
      ),
      more,
    ],
  };
}

/** Names the procedure and the place that words mean, as the page's script does. Else links would lead to the words again. */
function meantIn(asked: URLSearchParams, { code, choice: { state, near } }: View): URLSearchParams {
  const parameters = new URLSearchParams(asked);
  setParameters(parameters, { q: null, procedure: code, city: null, state, near });
  return parameters;
}

function linkHtml(path: string, parameters: URLSearchParams, { text, changes, hospital }: Way): string {
  const query = new URLSearchParams(parameters);
  setParameters(query, changes ?? {});
  const page = hospital === undefined ? null : hospitalPath(hospital, parameters.get("year"), null);
  const url = page ?? (changes === null ? "/" : [path, String(query)].filter(Boolean).join("?"));
  return `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`;
}

/** @param isFirst whether it is the place above everything, where the note stands if data versions are gone */
function noteHtml(path: string, parameters: URLSearchParams, note: Note | null, isFirst: boolean): string {
  if (note === null || note.isGone !== isFirst) return "";
  const { text, link } = note;
  const kind = note.isGone ? "band wrong" : "under";
  return `<p class="${kind}">${escapeHtml(text)} ${link === null ? "" : linkHtml(path, parameters, link)}</p>`;
}

const noWords: Nothing = { title: "Nothing was found", why: "", ways: [] };

function writeNothing(
  path: string,
  parameters: URLSearchParams,
  words: ExploreWords,
  source: { caveat: string },
) {
  const { title, why, ways, see, before, matches } = words.nothing ?? noWords;
  const linkTo = (way: Way) => linkHtml(path, parameters, way);
  const links = [
    ...(see ? [`<a href="${escapeHtml(see)}">${escapeHtml(seeTitle(see))}</a>`] : []),
    ...ways.map(linkTo),
  ];
  const under = (html: string) => `<p class="under">${html}</p>`;
  const list = (matches ?? []).map((one) =>
    under(`${linkTo(one)} <small class="quiet">${escapeHtml(one.detail)}</small>`),
  );
  return {
    title: words.title || title,
    description: [`${title}.`, why, before].filter(Boolean).join(" "),
    sentence: `${noteHtml(path, parameters, words.note, true)}<h1>${escapeHtml(title)}.</h1>${noteOf(source)}${noteHtml(path, parameters, words.note, false)}${under(`${escapeHtml(why)} ${links.join(" · ")}`)}${before ? under(escapeHtml(before)) : ""}${list.join("")}`,
    tables: [formOf(path)],
  };
}

function writeHospital(path: string, parameters: URLSearchParams, ask: Ask) {
  const ccn = path.slice("/facilities/".length);
  const [year, procedure] = ["year", "procedure"].map((name) => parameters.get(name));
  const view = hospitalViewOf(ccn, year, procedure, ask);
  if ("ways" in view) {
    const { title, why, ways } = view;
    const links = ways.map((way) => linkHtml(path, parameters, way)).join(" · ");
    const sentence = `<h1>${escapeHtml(title)}.</h1><p class="under">${escapeHtml(why)} ${links}</p>`;
    return { title, description: why, sentence, tables: [], isHospital: true, isMissing: true };
  }
  const { facility, data, source } = view.answer;
  const { own, share, further } = hospitalText(view);
  const note = versionNote(view, source.data_version);
  const explore = (code: string) =>
    `/?${new URLSearchParams({ ...(year !== null && { year }), procedure: code, with: facility.ccn })}`;
  return {
    title: facility.facility,
    description: [`${addressText(view.answer)}.`, note?.text, own, further, caveatOf(source)]
      .filter(Boolean)
      .join(" "),
    sentence: `<div>${noteHtml(path, parameters, note, true)}<h1>${escapeHtml(facility.facility)}</h1><p class="under quiet">${escapeHtml(addressText(view.answer))}</p>${noteOf(source)}${noteHtml(path, parameters, note, false)}<p class="under">${escapeHtml(own)}</p><p class="under small">${escapeHtml(share)}</p><p class="under further">${escapeHtml(further)}</p></div>${yearField(String(source.data_year))}`,
    tables: [
      tableOf(
        `What it charges, ${source.data_year}`,
        ["Procedure", paysTitle, "Medicare allows", "Charge", "Nation's median"],
        data
          .toSorted((a, b) => Number(b.code === procedure) - Number(a.code === procedure))
          .map((row) => [
            {
              href: explore(row.code),
              text: titleOf(row),
              more: row.code === procedure ? "what you came from" : "",
            },
            money(shareOf(row.medicare_allowed, source.data_year)),
            money(row.medicare_allowed),
            money(row.submitted_charge),
            money(row.national.median_charge),
          ]),
      ),
    ],
    isHospital: true,
  };
}

/** @param procedure the procedure's code; null for none */
function hospitalPath(ccn: string, year: string | null, procedure: string | null): string {
  const query = new URLSearchParams({
    ...(year !== null && { year }),
    ...(procedure !== null && { procedure }),
  });
  return `/facilities/${ccn}${query.size === 0 ? "" : `?${query}`}`;
}
