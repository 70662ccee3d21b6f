import { Table } from "./connection.ts";

interface StoredVersion {
  version: string;
  sha256: string;
  content_sha256: string;
  first_served: number;
}

export class StoredVersions extends Table {
  all(): StoredVersion[] {
    return this.db.all("SELECT * FROM versions ORDER BY first_served, version");
  }

  byName(version: string): StoredVersion | undefined {
    return this.db.first<StoredVersion>("SELECT * FROM versions WHERE version = ?", version);
  }

  serve(version: string, sha256: string, contentSha256: string, now: Date): void {
    if (this.byName(version) !== undefined) return;
    const sql = "INSERT INTO versions (version, sha256, content_sha256, first_served) VALUES (?, ?, ?, ?)";
    this.db.run(sql, version, sha256, contentSha256, now.getTime());
  }
}
