import { randomBytes } from "node:crypto";
import { Table } from "./connection.ts";

/** The table of this server as one of several: its identity. */

/** What the next process has to know of this one. */
interface Known {
  /** Number of servers, this one included; 0 if this server has never been one of them. */
  members: number;
  /** The incarnation of Redis to which all counts have been reported; empty if there is none. */
  reported: string;
}

export class StoredReplica extends Table {
  /** The id of this server, which it gets once. */
  id(): string {
    const id = randomBytes(6).toString("hex");
    this.db.run("INSERT INTO replica SELECT ?, 0, 0, '' WHERE NOT EXISTS (SELECT 1 FROM replica)", id);
    return this.db.one<{ id: string }>("SELECT id FROM replica").id;
  }

  /** Numbers a start of this server by its time, because a state from a backup would give a counted number twice. */
  begin(now: Date): { id: string; starts: number } & Known {
    return this.db.atomically(() => {
      this.id();
      this.db.run("UPDATE replica SET starts = max(starts + 1, ?)", now.getTime());
      return this.db.one("SELECT * FROM replica");
    });
  }

  save({ members, reported }: Known): void {
    this.db.run("UPDATE replica SET members = ?, reported = ?", members, reported);
  }
}
