import type { CommandOutput, SharedCommand } from "../../part.ts";

export async function runShared(_urls: readonly string[], _command: SharedCommand): Promise<CommandOutput> {
  throw new Error("not yet");
}
