import assert from "node:assert/strict";
import * as v from "valibot";
import { encodePrices, findGroup, type Image, type Snapshot, stateCodes } from "../../engine/index.ts";
import { pricesResponse } from "../../server/api/responses.ts";
import { imageOf } from "./fixtures.ts";
import { groupKey, naivePrices, type PricesBody } from "./oracle.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const scopes: readonly (string | null)[] = [null, ...stateCodes];
export const everyRow = 1_000_000;

export function textOfBody(image: Image, group: number, limit: number): string {
  return utf8.decode(encodePrices(image, group, limit));
}

export function bodyOf(image: Image, group: number, limit: number): PricesBody {
  const { next, ...body } = v.parse(pricesResponse, JSON.parse(textOfBody(image, group, limit)));
  return body;
}

export function answer(
  image: Image,
  code: string,
  state: string | null,
  limit = everyRow,
): PricesBody | undefined {
  const group = findGroup(image, code, state);
  return group === -1 ? undefined : bodyOf(image, group, limit);
}

/** @returns the number of lists requested, the number of lists that have rows, and the number of their rows */
export function comparePrices(snapshot: Snapshot, subject: string) {
  const image = imageOf(snapshot);
  let asked = 0;
  let lists = 0;
  let rows = 0;
  for (const code of snapshot.table.procedures.code) {
    for (const state of scopes) {
      const body = answer(image, code, state);
      const expected = naivePrices(snapshot, code, state, everyRow);
      assert.deepEqual(body, expected, `${subject}, ${groupKey(code, state)}`);
      asked++;
      if (body === undefined) continue;
      lists++;
      rows += body.data.length;
    }
  }
  return { asked, lists, rows };
}

export function compared({ asked, lists, rows }: { asked: number; lists: number; rows: number }): string {
  return `${asked} lists asked for; ${lists} with ${rows} rows compared`;
}
