import { keyOf } from "./redis.ts";

/** Thresholds that accounts have crossed with the counts of all servers. `shares.lua` notes each once. */

/** The part of an `ioredis` client that is used here. */
interface StreamClient {
  xrange(
    key: string,
    from: string,
    to: string,
    count: "COUNT",
    most: number,
  ): Promise<[id: string, fields: string[]][]>;
  xdel(key: string, ...ids: string[]): Promise<number>;
}

interface Crossing {
  /** The stream and entry where it is noted. */
  key: string;
  id: string;
  account: number;
  /** The month as `YYYY-MM`. */
  month: string;
  /** Percent of the quota. */
  threshold: number;
  quota: number;
  used: number;
}

const mostPerShard = 100;

/** Crossings that aren't recorded yet. */
export async function crossings(client: StreamClient, shards: number): Promise<Crossing[]> {
  const keys = Array.from({ length: shards }, (_, shard) => keyOf(shard, "events"));
  const found = keys.map(async (key) =>
    (await client.xrange(key, "-", "+", "COUNT", mostPerShard)).map(([id, fields]) =>
      crossingOf(key, id, fields),
    ),
  );
  return (await Promise.all(found)).flat();
}

/** Removes crossings that are recorded now. */
export async function forget(client: StreamClient, known: readonly Crossing[]): Promise<void> {
  const byKey = Map.groupBy(known, ({ key }) => key);
  await Promise.all([...byKey].map(([key, each]) => client.xdel(key, ...each.map(({ id }) => id))));
}

function crossingOf(key: string, id: string, fields: readonly string[]): Crossing {
  const values = new Map(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]]] : [])));
  const number = (name: string) => Number(values.get(name));
  return {
    ...{ key, id, account: number("account"), month: values.get("month") ?? "" },
    ...{ threshold: number("threshold"), quota: number("quota"), used: number("used") },
  };
}
