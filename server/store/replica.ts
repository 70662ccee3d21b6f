import { randomBytes } from "node:crypto";
import { Table } from "./connection.ts";

/** The table with the identity of this server among the servers that share accounts. */

export class StoredReplica extends Table {
  /** Returns the id of this server, which the first call makes. */
  id(): string {
    const id = randomBytes(6).toString("hex");
    this.db.run("INSERT INTO replica SELECT ?, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM replica)", id);
    return this.db.one<{ id: string }>("SELECT id FROM replica").id;
  }

  /** Records a start. The start's number is a time, because a counter in a restored backup would repeat numbers. */
  begin(now: Date): { id: string; starts: number; members: number } {
    return this.db.atomically(() => {
      this.id();
      this.db.run("UPDATE replica SET starts = max(starts + 1, ?)", now.getTime());
      return this.db.one("SELECT * FROM replica");
    });
  }

  saveMembers(members: number): void {
    this.db.run("UPDATE replica SET members = ?", members);
  }
}
