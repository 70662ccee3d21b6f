import type { Redis } from "ioredis";
import { startOfMonth } from "../../server/shared/months.ts";
import { seededRandom } from "./random.ts";
import { Simulation } from "./shares-simulation.ts";

/** Random faults end before clients ask for the rest of quotas. */

interface FaultyRun {
  simulation: Simulation;
  /** Whether neither leases of servers nor writes of Redis were lost. */
  isExact: boolean;
  history: string[];
  /**
   * For each account, the previous month and then the last. Clients asked for the whole quota of the last month only.
   */
  months: {
    account: number;
    quota: number;
    admitted: number;
    record: Awaited<ReturnType<Simulation["record"]>>;
  }[];
}

/** @param losesWrites whether Redis may also lose everything, restart from a backup, or drop a key */
export async function faultyRun(
  client: Redis,
  seed: number,
  losesWrites: boolean,
  faultSeconds = 30,
): Promise<FaultyRun> {
  await client.flushdb();
  const random = seededRandom(seed);
  const accounts = Array.from({ length: 6 }, () => {
    const burst = random.pick([1, 3, 10, 50, 200]);
    return { burst, quota: burst * random.pick([5, 10, 30]) + random.int(20) };
  });
  const startMs = startOfMonth(24315) - random.pick([20, 1000, 86_400]) * 1000;
  const simulation = new Simulation({ seed, client, accounts, startMs });
  const planned = structuredClone(accounts);
  const history: string[] = [];
  // A server's lease is lost when the server is killed, or leaves without Redis' answer.
  let isLossy = losesWrites;
  const note = (text: string) => history.push(`${(simulation.nowMs / 1000).toFixed(3)} ${text}`);
  const count = 1 + random.int(5);
  for (let i = 0; i < count; i++)
    simulation.add(random.int(2) === 0 ? 0 : Math.round((random.next() - 0.5) * 600_000));
  await simulation.run(4000);
  await simulation.backUp();
  simulation.repeatedPercent = 2;

  const later = (maxSeconds: number, work: () => void) =>
    simulation.at(simulation.nowMs + (0.1 + random.next() * maxSeconds) * 1000, work);
  const end = (how: "kill" | "leave") => {
    const server = random.pick(simulation.servers.filter(({ isUp }) => isUp));
    if (!server) return;
    note(`${server.name}: ${how}`);
    const { isRefusing, lostPercent, maxDelayMs } = simulation;
    isLossy ||= how === "kill" || server.isCut || isRefusing || lostPercent > 0 || maxDelayMs > 2;
    simulation[how](server);
    later(20, () => {
      if (server.isUp) return;
      note(`${server.name} starts`);
      simulation.start(server);
    });
  };
  const crash = (server: Simulation["servers"][number], account: number, rounds: number) => {
    if (rounds === 0 || !server.isUp || server.isCut) return;
    note(`${server.name} crashes after unreported requests of account ${account}`);
    isLossy = true;
    server.isCut = true;
    for (let i = 0; i < 200; i++) simulation.request(server, account);
    simulation.kill(server);
    server.isCut = false;
    simulation.start(server);
    later(6, () => crash(server, account, rounds - 1));
  };
  const impair = (
    text: string,
    seconds: number,
    faults: Partial<typeof simulation>,
    healed: typeof faults,
  ) => {
    note(text);
    Object.assign(simulation, faults);
    later(seconds, () => void Object.assign(simulation, healed));
  };
  /** The rate changes at random, and so does the quota unless it is given. */
  const changeCeilings = (account = random.int(accounts.length), quota?: number) => {
    const first = planned[account];
    const ceilings = {
      burst: Math.ceil(first.burst * random.pick([0.3, 1, 4])),
      quota: quota ?? Math.ceil(first.quota * random.pick([0.3, 0.7, 1, 1.3])),
    };
    note(`account ${account} gets ${JSON.stringify(ceilings)}`);
    return simulation.change(account, ceilings);
  };
  const restart = (state: "same" | "empty" | "backup" | "reload") => () => {
    note(`Redis restarts: ${state}`);
    return simulation.restartRedis(state);
  };
  const faults: Record<string, () => void | Promise<void>> = {
    kill: () => end("kill"),
    leave: () => end("leave"),
    cut: () => {
      const server = random.pick(simulation.servers);
      note(`${server.name} is cut off`);
      server.isCut = true;
      later(random.pick([1, 5, 25]), () => {
        server.isCut = false;
        note(`${server.name} is back`);
      });
    },
    add: () => {
      if (simulation.servers.length > 8) return;
      note(`${simulation.add(0).name} is new`);
    },
    slow: () => {
      const maxDelayMs = random.pick([50, 500, 3000]);
      impair(`slow: ${maxDelayMs} ms`, 10, { maxDelayMs }, { maxDelayMs: 2 });
    },
    lossy: () => impair("lossy", 10, { lostPercent: 20 }, { lostPercent: 0 }),
    refuse: () => impair("refusing", random.pick([1, 20]), { isRefusing: true }, { isRefusing: false }),
    clock: () => {
      const offMs = Math.round((random.next() - 0.5) * 600_000);
      note(`clock of Redis ${offMs}`);
      simulation.setRedisClock(offMs);
    },
    restart: restart("same"),
    crashes: () => crash(random.pick(simulation.servers), random.int(accounts.length), 4),
    ceilings: () => changeCeilings(),
  };
  if (losesWrites) {
    faults.empty = restart("empty");
    faults.backup = restart("backup");
    faults.reload = restart("reload");
    faults.drop = async () => {
      const key = random.pick((await client.keys("*")).sort());
      if (key === undefined) return;
      note(`Redis drops ${key}`);
      await simulation.dropKey(key);
    };
  }
  const names = Object.keys(faults);
  const endMs = 4000 + faultSeconds * 1000;
  for (let ms = 5000; ms < endMs; ms += 500 + random.int(6000))
    simulation.at(ms, () => faults[random.pick(names)]());

  const load = (account: number, perSecond: number, untilMs: number, isOnOne: boolean) => {
    const fixed = random.pick(simulation.servers);
    const step = () => {
      if (simulation.nowMs > untilMs) return;
      const server = isOnOne ? fixed : random.pick(simulation.servers);
      const batch = random.int(10) === 0 ? 1 + random.int(10) : 1;
      for (let i = 0; i < batch; i++) simulation.request(server, account);
      simulation.at(simulation.nowMs - (Math.log(1 - random.next()) * 1000) / perSecond, step);
    };
    step();
  };
  for (const [account, { burst }] of accounts.entries())
    load(account, Math.min(150, burst * random.pick([0.1, 0.5, 1, 2])), endMs, random.int(3) === 0);
  await simulation.run(endMs);

  note("healed");
  simulation.isRefusing = false;
  simulation.lostPercent = 0;
  simulation.repeatedPercent = 0;
  simulation.maxDelayMs = 2;
  for (const server of simulation.servers) {
    server.isCut = false;
    server.offMs = 0;
    if (!server.isUp) simulation.start(server);
  }
  for (const account of accounts.keys()) await changeCeilings(account, simulation.highest[account].quota);
  await simulation.run(endMs + 5000);
  let lastMs = 0;
  const month = simulation.month();
  for (const [account, { burst, quota }] of accounts.entries()) {
    let ms = simulation.nowMs;
    const left = quota - simulation.tally(account, month).admitted;
    for (let i = 0; i < left * 3 + 60 * simulation.servers.length; i++) {
      ms += 1000 / burst / (0.5 + random.next());
      simulation.at(ms, () => void simulation.request(random.pick(simulation.servers), account));
    }
    for (let i = 0; i < 3; i++)
      simulation.at(simulation.nowMs + random.next() * (ms - simulation.nowMs), () =>
        changeCeilings(account, quota),
      );
    lastMs = Math.max(lastMs, ms);
  }
  await simulation.run(lastMs + 3000);
  // Requests may have been refused because the last changes lowered rates. So clients ask again for what is left.
  for (const [account, { burst, quota }] of accounts.entries()) {
    const left = isLossy ? 0 : quota - simulation.tally(account, month).admitted;
    for (let i = 0; left > 0 && i < left * 3 + 60 * simulation.servers.length; i++) {
      await simulation.run(simulation.nowMs + Math.max(50, 1000 / burst));
      simulation.request(random.pick(simulation.servers), account);
    }
  }
  await simulation.run(simulation.nowMs + 3000);
  const months = [];
  for (const [account, { quota }] of accounts.entries())
    for (const each of [month - 1, month]) {
      const { admitted } = simulation.tally(account, each);
      months.push({ account, quota, admitted, record: await simulation.record(account, each) });
    }
  return { simulation, history, months, isExact: !isLossy };
}
