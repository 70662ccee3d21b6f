import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** A Lua script in Redis, which is sent again where Redis doesn't know it. */

/** The part of an `ioredis` client that is used here, for one Redis, Sentinels or a Cluster. */
export interface ScriptClient {
  evalsha(digest: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
  eval(source: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
}

export class Script {
  readonly #source: string;
  readonly #digest: string;

  /** @param file name of the script in this folder */
  constructor(file: string) {
    this.#source = readFileSync(new URL(file, import.meta.url), "utf8");
    this.#digest = createHash("sha1").update(this.#source).digest("hex");
  }

  async run(
    client: ScriptClient,
    keys: readonly string[],
    values: readonly (string | number)[],
  ): Promise<unknown> {
    const all = [...keys, ...values];
    try {
      return await client.evalsha(this.#digest, keys.length, ...all);
    } catch (error) {
      // A restarted Redis, or a new primary, doesn't know the script.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return client.eval(this.#source, keys.length, ...all);
    }
  }
}
