// The settings of the plugin. They are read from the file, the environment and the command line like all others, and
// wrong ones are reported together at start.
import { readers, setting } from 'coffer';

/**
 * `editors=basicauth:abc… editors=basicauth:def… writers=basicauth:abc…`: label → users who have it.
 *
 * @type {import('coffer').SettingReader<ReadonlyMap<string, ReadonlySet<string>>>}
 */
const labels = {
  form: 'pairs of a label and a user id, label=user',
  read(given) {
    /** @type {Map<string, Set<string>>} */
    const found = new Map();
    for (const pair of given.split(/\s+/).filter((word) => word !== '')) {
      const [, label, user] = /^([\w-]+)=(.+)$/.exec(pair) ?? [];
      if (label === undefined || user === undefined) return { kind: 'wrong', expected: labels.form };
      found.set(label, (found.get(label) ?? new Set()).add(user));
    }
    return { kind: 'value', value: found };
  },
};

export const newsroomSettings = {
  'newsroom.labels': setting(labels, 'Users with labels; a label stands in permissions as group:<label>.', {
    default: new Map(),
    section: 'Newsroom',
  }),
  'newsroom.max_title_length': setting(readers.integer({ min: 1 }), 'Characters that the title of a story may have.', {
    default: 80,
    section: 'Newsroom',
    // Clients may want to know: it stands in the root view.
    isPublic: true,
  }),
};
