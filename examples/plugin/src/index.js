// The plugin: puts together what the other files declare.
import { definePlugin } from 'coffer';
import { datedName } from './ids.js';
import { drafts, stories } from './kinds.js';
import { labelsOf } from './labels.js';
import { publishEndpoint, publishPermission } from './publish.js';
import { newsroomSettings } from './settings.js';
import { tally } from './tally.js';

export default definePlugin({
  name: 'newsroom',
  settings: newsroomSettings,
  setup(host) {
    const settings = host.settings.read(newsroomSettings);
    return {
      kinds: [drafts, stories(settings['newsroom.max_title_length'])],
      permissions: [publishPermission],
      idGenerators: { DatedName: datedName(host.clock) },
      principals: labelsOf(settings['newsroom.labels']),
      endpoints: [publishEndpoint(host)],
      listeners: { tally },
      capabilities: {
        newsroom: {
          description: 'Drafts, stories, and the right to publish records.',
          url: 'https://newsroom.example/docs',
        },
      },
    };
  },
});
