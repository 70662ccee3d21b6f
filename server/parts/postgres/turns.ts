import type { Database } from "./connection.ts";

/**
 * Takes or renews a turn for some seconds. If a turn ends later than a new turn would end, it was taken while the
 * database's clock was ahead. Such a turn counts as over, so that nobody waits for its end.
 * @param holder who takes the turn
 * @returns whether the holder has the turn now
 */
export async function takeTurn(
  database: Pick<Database, "query">,
  name: string,
  holder: string,
  seconds: number,
): Promise<boolean> {
  await database.query(
    "DELETE FROM hcqs.turns WHERE name = $1 AND until > clock_timestamp() + make_interval(secs => $2)",
    [name, seconds],
  );
  const sql = "SELECT hcqs.take_turn($1, $2, $3) AS is_ours";
  const [{ is_ours }] = await database.query<{ is_ours: boolean }>(sql, [name, holder, seconds]);
  return is_ours;
}
