import { join, resolve } from "node:path";
import { unwritable } from "../../datasets/folder.ts";
import { publishFolder } from "../../datasets/publish/publish-folder.ts";
import { indexName } from "../../datasets/publish/snapshot-index.ts";
import { DataError } from "../../engine/query.ts";
import { calledAs, parsedArguments } from "../shared/arguments.ts";
import { runProgram, say } from "./program.ts";

/** The `publish` command: puts snapshots into a folder for servers elsewhere to fetch. */

const usage = `${calledAs("publish")} DIR`;
export const help = `usage: ${usage}

Copies the snapshots of DATASETS_DIR (default: datasets/snapshots) and ${indexName}, which lists them, into DIR. Serve
DIR by a web server or from a bucket. Servers whose DATASETS_URL is the address of ${indexName} fetch the snapshots, and
retire fetched ones that are no longer in the list. Files stay in DIR until you delete them.
`;

export async function run(args: string[]): Promise<void> {
  const { positionals } = parsedArguments("publish", { args, options: {}, allowPositionals: true }, usage);
  const [folder, ...more] = positionals;
  if (folder === undefined || more.length > 0)
    throw new DataError("publish", `${positionals.length} folders`, usage);
  if (folder === "") throw new DataError("publish", "an empty name", "a folder");
  const from = resolve(process.env.DATASETS_DIR || "datasets/snapshots");
  try {
    const entries = await publishFolder(from, resolve(folder));
    process.stdout.write(`${join(resolve(folder), indexName)}\n`);
    say(`published ${entries.map(({ version }) => version).join(", ")}`);
  } catch (error) {
    throw unwritable(folder, error);
  }
}

if (import.meta.main) await runProgram(() => help, run);
