import { startServer, call, Connection, getStuck } from "./server.ts";
console.time("start");
const s = await startServer();
console.timeEnd("start");
for (const r of ["GET /api/v1/healthcare/prices?procedure=5072&limit=1","HEAD /api/v1/healthcare/prices?procedure=5072&limit=1","GET /api/v1/healthcare/prices?procedure=5361&limit=50", "BREW /", "GET http://localhost/api/v1/healthcare/prices?procedure=5072&limit=1", "OPTIONS *"]) {
 try { const a = await call(s, r); console.log(a.head, a.body.length, a.body.subarray(0,600).toString()); } catch (e) { console.log(r, e); }
}
const a = await call(s, "GET /api/v1/healthcare/prices?procedure=5072&limit=1", {"If-None-Match":"*"}); console.log(a.head);
for (let i=0;i<30;i++) { console.time("stuck"); const c = await Connection.open(s.api); console.log(await getStuck(s,c)); console.timeEnd("stuck"); c.cut(); }
console.log(s.process.stderr, s.process.stdout);
console.time("stop"); console.log(await s.stop()); console.timeEnd("stop");
