import assert from "node:assert/strict";
import { basename } from "node:path";
import { stateOf } from "../../server/snapshots/folder.ts";
import type { Wanted } from "../../server/snapshots/loads.ts";

export async function wantedLoad(path: string): Promise<Wanted> {
  const name = basename(path);
  const state = await stateOf(path);
  assert.ok(state, path);
  return { ...state, name, path, onRows: () => {} };
}
