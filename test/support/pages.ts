import assert from "node:assert/strict";
import * as v from "valibot";
import {
  type DocumentKind,
  type Image,
  partsOf,
  type Snapshot,
  search,
  stateCodes,
  versionName,
} from "../../engine/index.ts";
import type { Service } from "../../server/serving/service.ts";
import { ask, openService } from "./asking.ts";
import { imageOf, procedureRows, procedureSorts, versionsOf } from "./endpoint-oracle.ts";
import { naivePrices, type PricesBody } from "./oracle.ts";

/** Lists with all that they have to hold, what answers requests for them, and a walk through their pages. */

const everything = 1_000_000;

export const nameOf = ({ description: { provenance } }: Image) => versionName(provenance);

interface Answer {
  status: number;
  body: unknown;
}

/** What answers requests in a serving thread, asked by one account that is never refused. */
export class Asked {
  readonly #service: Service;
  readonly #key: string;

  constructor(image: Image) {
    const { service, key } = openService(versionsOf(image));
    this.#service = service;
    this.#key = key;
  }

  publish(...images: Image[]): void {
    this.#service.publish(versionsOf(...images));
  }

  get(target: string): Answer {
    const mark = target.indexOf("?");
    const [path, query] = mark < 0 ? [target, undefined] : [target.slice(0, mark), target.slice(mark + 1)];
    const { status, body } = ask(this.#service, this.#key, path, () => query);
    return { status, body: JSON.parse(body) };
  }
}

const pageSchema = v.looseObject({
  data: v.array(v.looseObject({})),
  source: v.looseObject({ data_version: v.string() }),
  next: v.nullable(v.pipe(v.string(), v.regex(/^\/api\/v1\/pages\/[\w-]+$/))),
});
type Page = v.InferOutput<typeof pageSchema>;

export function pageAt(asked: Asked, target: string): Page {
  const { status, body } = asked.get(target);
  assert.equal(status, 200, `${target}: ${JSON.stringify(body)}`);
  return v.parse(pageSchema, body);
}

const errorSchema = v.object({
  error: v.object({ type: v.string(), message: v.string(), param: v.optional(v.string()) }),
});

/** Checks the status and the error of an answer that is refused. */
export function assertRefused(
  asked: Asked,
  target: string,
  status: number,
  type: string,
  param?: string,
): void {
  const answer = asked.get(target);
  const told = `${target}: ${JSON.stringify(answer.body).slice(0, 300)}`;
  assert.equal(answer.status, status, told);
  const { error } = v.parse(errorSchema, answer.body);
  assert.equal(error.type, type, told);
  if (param !== undefined) assert.equal(error.param, param, told);
}

/**
 * All pages from a first one to the last. All but the rows and `next` is the same on each, and each but the last is full.
 *
 * @param between called before each further page
 */
export function walk(
  asked: Asked,
  first: string,
  limit: number,
  between: (page: number) => void = () => {},
): Page[] {
  const pages = [pageAt(asked, `${first}&limit=${limit}`)];
  const { data: _, next: __, ...common } = pages[0];
  for (let { next } = pages[0]; next !== null; { next } = pages[pages.length - 1]) {
    assert.equal(pages[pages.length - 1].data.length, limit, "only the last page may have room");
    between(pages.length);
    const { data, next: after, ...rest } = pageAt(asked, next);
    assert.deepEqual(rest, common, "all pages say the same of the whole list");
    assert.ok(data.length > 0, "no page is empty");
    pages.push({ data, next: after, ...rest });
  }
  return pages;
}

export const rowsOf = (pages: Page[]) => pages.flatMap(({ data }) => data);

/** A list with what it has to hold, by plain loops over the snapshot's rows. */
interface List {
  /** The path of the list, without a limit. */
  path: string;
  rows: object[];
  maxLimit: number;
}

function priceLists(lists: PricesBody[], state: string | null): List[] {
  const scope = state === null ? "" : `&state=${state}`;
  return lists.map(({ procedure, data }) => ({
    path: `/healthcare/prices?procedure=${procedure.code}${scope}`,
    rows: data,
    maxLimit: 50,
  }));
}

function procedureLists(lists: PricesBody[], state: string | null): List[] {
  const scope = state === null ? "" : `&state=${state}`;
  return Object.keys(procedureSorts).flatMap((sort) =>
    [1, 2, 7].map((minFacilities) => ({
      path: `/healthcare/procedures?sort=${sort}&min_facilities=${minFacilities}${scope}`,
      rows: procedureRows(lists, sort, minFacilities),
      maxLimit: 100,
    })),
  );
}

/** The order is that of one whole search. */
function searchLists(image: Image, { table }: Snapshot): List[] {
  const { facilities, procedures } = partsOf(table);
  const { ccn, name, city, state } = facilities;
  const own: Record<DocumentKind, object[]> = {
    facility: ccn.map((ccn, i) => ({
      type: "facility",
      ccn,
      facility: name[i],
      city: city[i],
      state: state[i],
    })),
    procedure: procedures.code.map((code, i) => ({ type: "procedure", code, name: procedures.name[i] })),
  };
  const kinds: DocumentKind[] = ["facility", "procedure"];
  return kinds.flatMap((kind) =>
    ["hos", "city", "c", "lev", "same", facilities.state[0]].map((query) => {
      const { documents, scores } = search(image, kind, query, 0, everything);
      const rows = Array.from(documents, (document, i) => ({ ...own[kind][document], score: scores[i] }));
      return { path: `/search?q=${query}&type=${kind}`, rows, maxLimit: 50 };
    }),
  );
}

export interface Served {
  image: Image;
  lists: List[];
}

/** Every list of a snapshot that has rows. */
export function served(snapshot: Snapshot): Served {
  const image = imageOf(snapshot);
  const lists = [null, ...stateCodes].flatMap((state) => {
    const found = partsOf(snapshot.table).procedures.code.flatMap(
      (code) => naivePrices(snapshot, code, state, everything) ?? [],
    );
    return [...priceLists(found, state), ...procedureLists(found, state)];
  });
  lists.push(...searchLists(image, snapshot));
  return { image, lists: lists.filter(({ rows }) => rows.length > 0) };
}
