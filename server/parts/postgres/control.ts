import type { PartContext, SharedState } from "../../part.ts";

export async function shareState(
  _options: { urls: readonly string[]; graceMs: number },
  _context: PartContext,
): Promise<SharedState> {
  throw new Error("not yet");
}
