/** What goes wrong. A fault begins at its time, is told in the trace, and is over when it says so, or when the world calms down. */
import type { Random } from '../random.ts';
import { etcdHost } from './etcd-model.ts';
import type { Envelope } from './network.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { World } from './world.ts';

export interface Fault {
  readonly name: string;
  readonly atMs: number;
  /** Returns how to end it. */
  begin(world: World): () => void;
}

/** When, and to whom, things may go wrong. */
export interface Scene {
  readonly random: Random;
  readonly ttlMs: number;
  readonly nodes: readonly string[];
  readonly callers: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
}

type Begin = (world: World) => () => void;
type Kind = (scene: Scene) => Begin;

const nothing = () => {};

export function faultsOf(theme: Theme, scene: Scene): Fault[] {
  const { random, ttlMs } = scene;
  const from: Readonly<Record<string, Kind>> = themes[theme];
  const latestMs = scene.fromMs + (scene.toMs - scene.fromMs) * 0.8;
  // Some come one by one, some all at once: the second is worse when the first is not over.
  const fromMs = random.uniform() < 0.5 ? scene.fromMs : scene.fromMs + random.uniform() * (latestMs - scene.fromMs);
  const toMs = fromMs === scene.fromMs ? latestMs : Math.min(latestMs, fromMs + ttlMs / 2);
  return Array.from({ length: 1 + random.integer(theme === 'plans' ? 2 : 4) }, () => {
    const name = random.pick(Object.keys(from));
    return { name, atMs: fromMs + random.uniform() * (toMs - fromMs), begin: from[name]!(scene) };
  }).sort((a, b) => a.atMs - b.atMs);
}

/** Shorter than a right lasts, longer, or so long that others have taken over and waited for a window. */
function durationMs({ random, ttlMs }: Scene): number {
  const chance = random.uniform();
  if (chance < 0.25) return ttlMs * 0.6 * random.uniform();
  return chance < 0.6 ? ttlMs * (0.9 + 1.6 * random.uniform()) : ttlMs * (2.5 + 3 * random.uniform());
}

/** Something that lasts: begun now, ended after a while. */
function lasting(forMs: number, begin: Begin): Begin {
  return (world) => {
    const end = begin(world);
    world.loop.at(world.loop.nowMs + forMs, end);
    return end;
  };
}

/** Whom it befalls: mostly somebody who counts a key that is asked for. Those that came later are spared, so that names are known. */
function victim(world: World, { random, nodes }: Scene): SimulatedNode {
  const keys = world.rules.flatMap((rule) => rule.keys);
  const owner = random.uniform() < 0.7 ? world.ownerOf(random.pick(keys)) : undefined;
  return owner && nodes.includes(owner.name) ? owner : world.node(random.pick(nodes));
}

/** At once, at a moment between two steps of what the node is doing, or right after it has granted something. */
function strike({ random }: Scene, node: SimulatedNode, hit: () => void): void {
  const chance = random.uniform();
  if (chance < 0.2) hit();
  else if (chance < 0.6) node.host.strikeAt({ afterPassages: 1 + random.integer(12), hit });
  else node.strikeAfterGrants(1 + random.integer(3), hit);
}

async function restart(world: World, name: string): Promise<void> {
  const node = world.node(name);
  if (!node.host.isUp) await node.start();
}

const crash: Kind = (scene) => {
  const downMs = scene.random.uniform() < 0.4 ? 1 + 20 * scene.random.uniform() : durationMs(scene);
  return (world) => {
    const node = victim(world, scene);
    strike(scene, node, () => node.crash());
    const end = () => void restart(world, node.name);
    world.loop.at(world.loop.nowMs + downMs, end);
    return end;
  };
};

/** All of them at once, as when the power fails. */
const blackout: Kind = ({ nodes, random }) => {
  const downMs = random.uniform() * 50;
  return (world) => {
    for (const name of nodes) world.node(name).crash();
    const end = () => {
      for (const name of nodes) void restart(world, name);
    };
    world.loop.at(world.loop.nowMs + downMs, end);
    return end;
  };
};

const pause: Kind = (scene) => {
  const forMs = durationMs(scene);
  return (world) => {
    const node = victim(world, scene);
    strike(scene, node, () => {
      world.tell(node.name, `is paused for ${forMs.toFixed(0)} ms`);
      const goOn = node.host.pause();
      world.loop.at(world.loop.nowMs + forMs, () => goOn());
    });
    return nothing;
  };
};

const stall: Kind = (scene) => {
  const looks = scene.random.integer(30);
  const forMs = durationMs(scene);
  return (world) => {
    victim(world, scene).host.stallAt(looks, forMs);
    return nothing;
  };
};

const suspension: Kind = (scene) => lasting(durationMs(scene), (world) => victim(world, scene).host.suspend());

/** A node is cut off from others: in one direction, the other, or both. */
function cut(from: (scene: Scene) => readonly string[]): Kind {
  return (scene) => {
    const direction = scene.random.integer(3);
    const others = from(scene);
    return lasting(durationMs(scene), (world) => {
      const { name } = victim(world, scene);
      world.tell(name, `is cut off: ${others.join(' ')}`);
      const ends: (() => void)[] = [];
      for (const other of others) {
        if (other === name) continue;
        if (direction !== 1) ends.push(world.network.cut(name, other));
        if (direction !== 2) ends.push(world.network.cut(other, name));
      }
      return () => {
        for (const end of ends) end();
      };
    });
  };
}

const cutFromEtcd = cut(() => [etcdHost]);
const cutFromNodes = cut(({ nodes }) => nodes);
const cutBetweenNodes = cut(({ nodes, random }) => [random.pick(nodes)]);
const cutFromCallers = cut(({ callers, random }) => [random.pick(callers)]);
/** With its callers on one side, everything else on the other. */
const isolation = cut(({ nodes }) => [...nodes, etcdHost]);

const leaderLoss: Kind = (scene) => {
  const forMs = scene.ttlMs * (0.2 + 0.4 * scene.random.uniform());
  return lasting(forMs, (world) => world.etcd.loseLeader());
};

const etcdDown: Kind = (scene) => {
  const forMs = scene.ttlMs * (1 + scene.random.uniform());
  return lasting(forMs, (world) => world.etcd.loseLeader());
};

/** A member that a node asks has not heard of anything for a while, and does not know that. */
const staleReads: Kind = (scene) =>
  lasting(durationMs(scene), (world) => {
    const { etcd } = world;
    const { name } = victim(world, scene);
    etcd.lagging.set(name, etcd.state.revision);
    return () => etcd.lagging.delete(name);
  });

const storm: Kind = (scene) =>
  lasting(durationMs(scene), (world) => {
    const { weather } = world.network;
    world.network.weather = { ...weather, delayMs: 3, slowShare: 0.2, slowMs: 30, strayShare: 0.05, lossShare: 0.05 };
    return () => {
      world.network.weather = weather;
    };
  });

/** Standbys hear what was carried out, and nobody hears that they did: not at all, or later than anybody waits. */
const deafness: Kind = (scene) => {
  const { random } = scene;
  const lostShare = random.pick([0.3, 0.7, 1]);
  const what = random.pick(['?replicate', '?replicate', 'replicate']);
  return lasting(durationMs(scene), (world) => {
    const { hindrances } = world.network;
    const hindrance = (envelope: Envelope) => {
      if (envelope.what !== what || random.uniform() >= lostShare) return undefined;
      return random.uniform() < 0.5 ? 'lost' : random.exponential(scene.ttlMs / 4);
    };
    hindrances.add(hindrance);
    return () => hindrances.delete(hindrance);
  });
};

/** Answers to callers are lost, so that they ask again for what was carried out. */
const silence: Kind = (scene) =>
  lasting(durationMs(scene), (world) => {
    const { hindrances } = world.network;
    const hindrance = ({ what }: Envelope) => (what === '?check' && scene.random.uniform() < 0.6 ? 'lost' : undefined);
    hindrances.add(hindrance);
    return () => hindrances.delete(hindrance);
  });

/** Questions, and what standbys are told, arrive a second time, when other things have happened. */
const echoes: Kind = (scene) =>
  lasting(durationMs(scene), (world) => {
    const { network } = world;
    network.echo = ({ what }) => {
      if (what !== 'check' && what !== 'replicate') return undefined;
      return scene.random.uniform() < 0.3 ? scene.random.exponential(50) : undefined;
    };
    return () => {
      network.echo = undefined;
    };
  });

/** A node that was not there before. */
const join: Kind = ({ random }) => {
  const name = newcomer(random);
  return (world) => {
    void start(world, name);
    return nothing;
  };
};

/** A node that joins, and leaves before it has settled down. */
const visit: Kind = ({ random, ttlMs }) => {
  const name = newcomer(random);
  const forMs = ttlMs * random.uniform();
  return (world) => {
    const leaveSoon = async () => {
      const { loop } = world;
      await start(world, name);
      loop.at(loop.nowMs + forMs, () => world.node(name).leave(2 * ttlMs));
    };
    void leaveSoon();
    return nothing;
  };
};

function newcomer(random: Random): string {
  return `j${random.integer(1_000_000)}`;
}

/** With the configuration that the others have by now. */
async function start(world: World, name: string): Promise<void> {
  const newest = Math.max(...[...world.nodes.values()].map(({ version }) => version));
  const node = world.addNode(name);
  node.version = newest;
  await node.start();
}

/** For good: but the first stays, so that somebody does. */
const leave: Kind = ({ random, nodes, ttlMs }) => {
  const name = random.pick(nodes.slice(1));
  return (world) => {
    world
      .node(name)
      .leave(2 * ttlMs)
      .catch((error) => world.fail(error));
    return nothing;
  };
};

/** One after the other leaves, and comes back as another. */
const rollingRestart: Kind = ({ nodes, ttlMs }) => {
  return (world) => {
    const one = async (name: string) => {
      await world.node(name).leave(2 * ttlMs);
      await restart(world, name);
    };
    const all = async () => {
      for (const name of nodes) await one(name);
    };
    all().catch((error) => world.fail(error));
    return () => {
      for (const name of nodes) void restart(world, name);
    };
  };
};

/** The configuration changes, on one node after the other. */
const reload: Kind = ({ random }) => {
  return (world) => {
    const { loop } = world;
    const read = (node: SimulatedNode) => {
      node.version = 1;
      world.tell(node.name, 'has read its configuration again');
    };
    for (const node of world.nodes.values()) loop.at(loop.nowMs + 100 * random.uniform(), () => read(node));
    // Whoever joined meanwhile may have been given the old one.
    loop.at(loop.nowMs + 100, () => {
      for (const node of world.nodes.values()) read(node);
    });
    return nothing;
  };
};

const plans = { join, visit, leave, rollingRestart };
const crashes = {
  crash,
  crashOfAnother: crash,
  blackout,
  join,
  visit,
  rollingRestart,
  reload,
  deafness,
  silence,
};
const pauses = { pause, pauseOfAnother: pause, stall, suspension, join, visit, leave, reload, deafness };
const cuts = {
  cutFromEtcd,
  cutFromNodes,
  cutBetweenNodes,
  cutFromCallers,
  isolation,
  leaderLoss,
  etcdDown,
  staleReads,
  storm,
  deafness,
  silence,
  echoes,
  join,
  visit,
  leave,
};
const themes = { plans, crashes, pauses, cuts, everything: { ...plans, ...crashes, ...pauses, ...cuts } };

/** What a history is about. */
export type Theme = keyof typeof themes;

export const themeNames = Object.keys(themes) as Theme[];
