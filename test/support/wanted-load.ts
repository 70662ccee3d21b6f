import assert from "node:assert/strict";
import { basename } from "node:path";
import { openFile, readHead, stateOf } from "../../server/snapshots/folder.ts";
import type { Wanted } from "../../server/snapshots/loads.ts";

export async function wantedLoad(path: string): Promise<Wanted> {
  const name = basename(path);
  const state = await stateOf(path);
  const open = state && (await openFile(path, state.signature));
  assert.ok(state && open, path);
  const head = await readHead(open, name);
  await open.handle.close();
  return { ...state, name, path, head, onRows: () => {} };
}
