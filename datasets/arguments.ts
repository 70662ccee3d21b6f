import { type ParseArgsConfig, parseArgs } from "node:util";
import { DataError, reasonOf } from "../engine/query.ts";

/**
 * Takes a command line apart.
 *
 * @param command what the message is about
 * @throws DataError when it isn't as the configuration says, or has an option twice, one of which would be lost
 */
export function parsedArguments<Config extends ParseArgsConfig>(
  command: string,
  config: Config,
  expected: string,
): ReturnType<typeof parseArgs<Config>> {
  try {
    const seen = new Set<string>();
    const withTokens: ParseArgsConfig & { tokens: true } = { ...config, tokens: true };
    for (const token of parseArgs(withTokens).tokens) {
      if (token.kind !== "option") continue;
      if (seen.has(token.name)) throw new DataError(`--${token.name}`, "it more than once", "it once");
      seen.add(token.name);
    }
    return parseArgs(config);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && /^ERR_PARSE_ARGS/.test(String(error.code))))
      throw error;
    // Only the first sentence: the rest is advice that doesn't fit here.
    const [reason] = reasonOf(error).split(/\.\s|\.$|\n/);
    throw new DataError(command, reason, expected);
  }
}
