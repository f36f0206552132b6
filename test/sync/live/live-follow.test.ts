// Followers by stream and by long poll hold exactly the list at every `current`, whatever happens meanwhile: several writers,
// lost and regained access, deleted parents, flushes, restarts, killed processes, cut connections, lost hints, purged
// tombstones, slow readers.
// COFFER_FOLLOW_SECONDS makes it run longer, COFFER_FOLLOW_BACKEND chooses a backend, COFFER_FOLLOW_SEED repeats a choice.
import { describe, expect, it } from 'vitest';
import { inExtent, sized } from '../../support/extent.ts';
import { backends } from '../../support/server-process.ts';
import { PollFollower, StreamFollower, type LiveFollower } from './live-follower.ts';
import type { Entry } from './ledger.ts';
import { Track, type TrackOptions } from './track.ts';
import { collections, listOf, World } from './world.ts';

const seconds = sized('COFFER_FOLLOW_SECONDS', 3, 15);
const { COFFER_FOLLOW_SEED, COFFER_FOLLOW_BACKEND } = process.env;
const seed = Number(COFFER_FOLLOW_SEED ?? String(Date.now() % 2 ** 31));
const writers = 6;
const episodeMs = 1000;
const selected = backends.filter((name) => (COFFER_FOLLOW_BACKEND ?? name) === name);

const everything = { filter: '', matches: () => true };
const opened = { filter: 'status=open', matches: ({ status }: Entry) => status === 'open' };
const small = {
  filter: 'max_n=200&not_status=closed',
  matches: ({ n = 0, status }: Entry) => n <= 200 && status !== 'closed',
};

describe.each(COFFER_FOLLOW_BACKEND === undefined ? inExtent(['sqlite', 'postgresql'] as const, backends) : selected)(
  'followers of lists on %s',
  (backend) => {
    it(`hold what the lists contain (seed ${seed})`, { timeout: seconds * 4000 + 120_000 }, async () => {
      const world = await World.start(backend, seed);
      const followers = makeFollowers(world);
      const total = { episodes: 0, resyncs: 0 };
      try {
        for (const follower of followers) follower.start();
        const end = performance.now() + seconds * 1000;
        // On a busy machine, nothing may have been written within that time.
        while (performance.now() < end || countEntries(followers) === 0) {
          await disturbAtRest(world, followers);
          await runEpisode(world, followers);
          await settle(world, followers);
          for (const { tracks } of followers) {
            for (const track of tracks) track.check(world.ledgers.get(track.options.list)!);
          }
          total.episodes += 1;
        }
      } finally {
        await Promise.all(followers.map((follower) => follower.stop()));
        await world.close();
      }
      const frames = followers.reduce((sum, each) => sum + each.frames, 0);
      const resyncs = followers.reduce((sum, each) => sum + each.resyncs, 0);
      const entries = countEntries(followers);
      console.log(
        `${backend}, seed ${seed}: ${total.episodes} episodes, ${world.writes} changes, ${frames} frames, ${entries} entries, ${resyncs} resyncs`,
      );
      expect(frames).toBeGreaterThan(0);
      expect(entries).toBeGreaterThan(0);
    });
  },
);

/** Returns the number of changes that followers have received. */
function countEntries(followers: readonly LiveFollower[]): number {
  return followers.flatMap(({ tracks }) => tracks).reduce((sum, { entries }) => sum + entries, 0);
}

function makeFollowers(world: World): readonly LiveFollower[] {
  const server = (): string => world.server();
  const track = (user: string, collection: string, view: Pick<TrackOptions, 'filter' | 'matches'>): Track =>
    new Track({
      ...view,
      name: `${user} ${collection} ${view.filter}`,
      list: listOf(collection),
      seesAll: user !== 'carol',
      requireVisible: (entry) => {
        requireVisible(world, user, collection, entry);
      },
    });
  const followers: LiveFollower[] = [];
  for (const user of ['alice', 'bob']) {
    for (const view of [everything, opened, small]) {
      followers.push(new StreamFollower([track(user, 'c0', view)], { user, server }));
      followers.push(new StreamFollower([track(user, 'c0', view)], { user, server }));
      followers.push(new PollFollower([track(user, 'c0', view)], { user, server }));
      followers.push(
        new StreamFollower(
          collections.map((name) => track(user, name, view)),
          { user, server },
        ),
      );
    }
  }
  // Polls do not report which objects are no longer shared.
  followers.push(new StreamFollower([track('carol', 'c0', everything)], { user: 'carol', server }));
  followers.push(new StreamFollower([track('carol', 'c1', everything)], { user: 'carol', server }));
  return followers;
}

/** Objects that a user must never see: those of others, and those that were written after access was lost. */
function requireVisible(world: World, user: string, collection: string, entry: Entry): void {
  if (user === 'carol' && !world.shared.has(entry.id)) throw new Error(`carol received ${JSON.stringify(entry)}`);
  if (user !== 'bob' || world.revokedAt === undefined) return;
  const startedAt = world.ledgers.get(listOf(collection))!.startOf(entry.last_modified);
  if (startedAt !== undefined && startedAt > world.revokedAt) throw new Error(`bob received ${JSON.stringify(entry)}`);
}

/** Changes what writers do not notice: between episodes, everything that was written is known. */
async function disturbAtRest(world: World, followers: readonly LiveFollower[]): Promise<void> {
  const polls = followers.filter((follower) => follower instanceof PollFollower);
  switch (world.dice.below(8)) {
    case 0: {
      const name = world.dice.pick(collections);
      await world.deleteCollection(name);
      await world.createCollection(name);
      return;
    }
    case 1:
      // A poll after the lists were created again does not show that they were deleted.
      return world.flush(() =>
        expect.poll(() => polls.every(({ isRefused }) => isRefused), { timeout: 30_000 }).toBe(true),
      );
    case 2:
    case 3:
      return world.setAccess(world.revokedAt !== undefined);
    default:
  }
}

/** Runs writers for a while, and disturbs them and the followers. */
async function runEpisode(world: World, followers: readonly LiveFollower[]): Promise<void> {
  const end = performance.now() + episodeMs;
  const writing = Array.from({ length: writers }, async (_, writer) => {
    while (performance.now() < end) await world.write(writer);
  });
  const disturbing = disturb(world, followers);
  await Promise.all([...writing, disturbing]);
}

async function disturb(world: World, followers: readonly LiveFollower[]): Promise<void> {
  const { dice } = world;
  for (let n = 0; n < 8; n++) {
    followers[dice.below(followers.length)]!.cut();
    followers[dice.below(followers.length)]!.hold(dice.below(300));
  }
  switch (dice.below(7)) {
    case 0:
      return world.dropHints();
    case 1:
      return world.isDurable ? world.restart('kill') : undefined;
    case 2:
      return world.isDurable ? world.restart('stop') : undefined;
    case 3:
      return world.setAccess(world.revokedAt !== undefined);
    case 4:
      // Where servers end, what became of a lost deletion is read from its tombstone.
      return world.isDurable ? world.purge() : undefined;
    default:
  }
}

/** Waits until every follower holds what its user sees. */
async function settle(world: World, followers: readonly LiveFollower[]): Promise<void> {
  for (const follower of followers) {
    for (const track of follower.tracks) {
      const { list, filter } = track.options;
      const wanted = await world.send('GET', `${list}?${filter}`, undefined, follower.options.user);
      await expect
        .poll(
          () => {
            follower.requireFaultless();
            if (wanted!.status !== 200) return follower.isRefused && track.copy.size === 0;
            return sameState(track.copy, (wanted!.body as { data: Entry[] }).data);
          },
          {
            timeout: 30_000,
            message: `${track.options.name} has ${[...track.copy.keys()].join()}, not ${JSON.stringify(wanted!.body).replaceAll(/x+/g, 'x').slice(0, 2000)}`,
          },
        )
        .toBe(true);
    }
  }
}

function sameState(copy: ReadonlyMap<string, Entry>, wanted: readonly Entry[]): boolean {
  if (copy.size !== wanted.length) return false;
  return wanted.every(({ id, last_modified, n }) => {
    const known = copy.get(id);
    return known?.last_modified === last_modified && known.n === n;
  });
}
