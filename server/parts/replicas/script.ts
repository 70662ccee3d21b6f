import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** A script that Redis runs, which it is sent where it doesn't know it. */

/** What is used of a client of `ioredis`, of a single Redis, of Sentinels or of a Cluster. */
export interface ScriptClient {
  evalsha(digest: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
  eval(source: string, keys: number, ...values: (string | number)[]): Promise<unknown>;
}

export class Script {
  readonly #source: string;
  readonly #digest: string;

  /** @param file beside this one */
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
      // A Redis that was started anew, or a primary that was a replica, doesn't have it.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return client.eval(this.#source, keys.length, ...all);
    }
  }
}
