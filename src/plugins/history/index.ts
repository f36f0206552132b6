// The history of a bucket: every change of it and of what it holds, with the whole object each time, and collections as
// they were at an instant.
import type { JsonValue } from '../../base/json.ts';
import { definePlugin } from '../../http/plugin.ts';
import { setting } from '../../settings/definition.ts';
import { integer, list } from '../../settings/readers.ts';
import { historyKind } from './kind.ts';
import { idsByKind, objectUris, recordedKinds } from './object-uris.ts';
import { recordChanges, type RecorderOptions } from './recorder.ts';
import { snapshotEndpoint } from './snapshot-endpoint.ts';

const section = 'History';

const settings = {
  'history.exclude_resources': setting(
    objectUris(),
    'Objects whose changes are not recorded, nor those of anything in them. Shown in the root view.',
    { default: [], section },
  ),
  'history.exclude_user_ids': setting(list('user ids'), 'Users whose changes are not recorded.', {
    default: [],
    section,
  }),
  'history.auto_trim_max_count': setting(
    integer({ min: -1 }),
    'Entries kept for each bucket and kind of object, such as record; older ones go. All are kept when it is not positive.',
    { default: -1, section },
  ),
  'history.auto_trim_threshold': setting(
    integer({ min: 0 }),
    'How many entries more there may be before the old ones go, because trimming each time costs time.',
    { default: 100, section },
  ),
  'history.auto_trim_user_ids': setting(
    list('user ids'),
    'When given: only changes of these users trim the history, and only their own entries go.',
    { default: [], section },
  ),
};

export const history = definePlugin({
  name: 'history',
  settings,
  setup({ settings: given, clock, objects, documentationUrl }) {
    const values = given.read(settings);
    const userIds = values['history.auto_trim_user_ids'];
    const maxCount = values['history.auto_trim_max_count'];
    const excludedUris = values['history.exclude_resources'];
    const options: RecorderOptions = {
      clock,
      excludedUris: new Set(excludedUris),
      excludedUserIds: new Set(values['history.exclude_user_ids']),
      explicitPermissions: given.get('explicit_permissions'),
      trim: { maxCount, threshold: values['history.auto_trim_threshold'], userIds: new Set(userIds) },
    };
    const shown: Record<string, JsonValue> = {
      ...(maxCount > 0 ? { auto_trim_max_count: maxCount } : {}),
      ...(userIds.length > 0 ? { auto_trim_user_ids: userIds } : {}),
      ...(excludedUris.length > 0 ? { excluded_resources: excludedUris.map(idsByKind) } : {}),
    };
    return {
      kinds: [historyKind],
      endpoints: [snapshotEndpoint(objects, options, given.get('max_answer_bytes'))],
      capabilities: {
        history: { description: 'Every change is recorded.', url: documentationUrl('history'), ...shown },
      },
      start() {
        const wrong = excludedUris.find((uri) => objects.findByUri(uri) === undefined);
        if (wrong !== undefined) throw new Error(`history.exclude_resources: no object can have the URI ${wrong}.`);
      },
      subscribers: [
        {
          name: 'history',
          on: 'RequestChanged',
          kinds: recordedKinds,
          handle: (changes, { unit }) => recordChanges(objects.kind('history'), options, changes, unit),
        },
      ],
    };
  },
});
