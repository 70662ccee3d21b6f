/**
 * The registry of data versions that were ever served. It lies in the state database of the server, so that a number
 * never comes to mean other content, and the commands that give out numbers read it.
 */
export const versionsTable = `
  CREATE TABLE versions (
    version TEXT PRIMARY KEY, -- <year>.<revision>
    sha256 TEXT NOT NULL, -- of content and provenance
    content_sha256 TEXT NOT NULL, -- of the rows alone
    first_served TEXT NOT NULL,
    retired TEXT -- null while it is served
  ) STRICT;`;
