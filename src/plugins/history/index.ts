// Plugin `history`: records every change in a bucket with the whole object, and returns snapshots of collections at a
// past time. See docs/guides/history.md.
import type { JsonValue } from '../../base/json.ts';
import { definePlugin } from '../../http/plugin.ts';
import { inSection, setting } from '../../settings/definition.ts';
import { integer, list } from '../../settings/readers.ts';
import { historyKind } from './kind.ts';
import { idsByKind, objectUris, recordedKinds } from './object-uris.ts';
import { recordChanges, type RecorderOptions } from './recorder.ts';
import { snapshotEndpoint } from './snapshot-endpoint.ts';

const settings = inSection('History', {
  'history.exclude_resources': setting(
    objectUris(),
    'Objects whose changes are not recorded, including everything in them. Shown in the root view.',
    { default: [] },
  ),
  'history.exclude_user_ids': setting(list('user ids'), 'Users whose changes are not recorded.', { default: [] }),
  'history.auto_trim_max_count': setting(
    integer({ min: -1 }),
    'Maximum number of entries per bucket and kind of object, such as record; older entries are deleted. 0 or less means unlimited.',
    { default: -1 },
  ),
  'history.auto_trim_threshold': setting(
    integer({ min: 0 }),
    'Number of entries above the maximum before old ones are deleted. A higher value trims less often.',
    { default: 100 },
  ),
  'history.auto_trim_user_ids': setting(
    list('user ids'),
    'Users whose changes trim the history; only their own entries are deleted. Empty means all users.',
    { default: [] },
  ),
});

export const history = definePlugin({
  name: 'history',
  kindNames: [historyKind.name],
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
        history: { description: 'Records every change of an object.', url: documentationUrl('history'), ...shown },
      },
      start() {
        const wrong = excludedUris.find((uri) => objects.findByUri(uri) === undefined);
        if (wrong !== undefined) throw new Error(`history.exclude_resources: ${wrong} is not a valid object URI.`);
      },
      subscribers: [
        {
          name: 'history',
          on: 'RequestChanged',
          kinds: recordedKinds,
          readsReplaced: false,
          handle: (changes, { unit }) => recordChanges(objects.kind('history'), options, changes, unit),
        },
      ],
    };
  },
});
