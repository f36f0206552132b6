// Kinds whose lists belong to callers: one list per user, one per team, children, lists below shared objects, and lists that
// their owner may change as a whole. Records the changes that subscribers receive.
import type { ResourceKind } from '../../src/engine/kind.ts';
import type { Change } from '../../src/engine/events/event.ts';
import { definePlugin, type Plugin } from '../../src/http/plugin.ts';

const members = ['system.Authenticated'];

const task: ResourceKind = {
  name: 'task',
  path: '/tasks',
  flavour: 'shareable',
  idGenerator: 'NameGenerator',
  parentOf: ({ userId }) => userId,
  async afterChange({ action, uri }, { storage, permission }) {
    if (action !== 'delete') return;
    await storage.deleteChildren(uri);
    await permission.deletePermissionsBelow(uri);
  },
};
const step: ResourceKind = {
  name: 'step',
  path: '/tasks/{task_id}/steps',
  flavour: 'shareable',
  idGenerator: 'NameGenerator',
  parent: 'task',
};
/** Teams are principals of the plugin. */
const memo: ResourceKind = {
  name: 'memo',
  path: '/memos',
  flavour: 'shareable',
  idGenerator: 'NameGenerator',
  parentOf: ({ knownPrincipals }) => knownPrincipals.find((principal) => principal.startsWith('team:')),
};
const vault: ResourceKind = {
  name: 'vault',
  path: '/vaults',
  flavour: 'shareable',
  idGenerator: 'NameGenerator',
  parentOf: ({ userId }) => `of ${userId}`,
  defaultPrincipals: { create: members, write: members },
};
const board: ResourceKind = {
  name: 'board',
  path: '/boards',
  flavour: 'shareable',
  idGenerator: 'NameGenerator',
  defaultPrincipals: { create: members, read: ['system.Everyone'] },
};
const mark: ResourceKind = {
  name: 'mark',
  path: '/boards/{board_id}/marks',
  flavour: 'shareable',
  idGenerator: 'NameGenerator',
  parent: 'board',
  parentOf: ({ userId }) => userId,
};

export const ownedKinds: readonly ResourceKind[] = [task, step, memo, vault, board, mark];

/** @param teams users by id, with the name of their team */
export function ownedKindsPlugin(teams: ReadonlyMap<string, string>, changes: Change[] = []): Plugin {
  return definePlugin({
    name: 'owned',
    setup: () => ({
      kinds: ownedKinds,
      principals: (userId) => {
        const team = teams.get(userId);
        return Promise.resolve(team === undefined ? [] : [`team:${team}`]);
      },
      subscribers: [
        {
          name: 'record-changes',
          on: 'ResourceChanged',
          handle: (event) => void changes.push(...event.changes),
        },
      ],
    }),
  });
}
