import { readFileSync } from "node:fs";

/** Number of the schema. Servers with the same number can run at the same time. */
export const schemaVersion = 1;

/** Number of the advisory lock for the installation. No other program may lock it. */
const installLock = 0x68637173;

/** SQL that makes the schema. It must run in a transaction of its own. */
export const installation = `
  SELECT pg_advisory_xact_lock(${installLock});
  DO $install$ BEGIN
    IF to_regclass('hcqs.installed') IS NULL THEN
      ${readFileSync(new URL("schema.sql", import.meta.url), "utf8")}
      INSERT INTO hcqs.installed VALUES (${schemaVersion});
    END IF;
  END $install$;`;
