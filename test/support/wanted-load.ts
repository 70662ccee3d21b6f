import assert from "node:assert/strict";
import { basename } from "node:path";
import { stateOf, type Wanted } from "../../server/snapshots/folder.ts";

export async function wantedLoad(path: string): Promise<Wanted> {
  const state = await stateOf(path);
  assert.ok(state, path);
  return { name: basename(path), path, signature: state.signature, onRows: () => {} };
}
