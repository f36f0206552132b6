// Plugin `changes`: monitored changes. Large numbers of clients poll one cacheable list instead of every collection.
import { cacheLifetimes } from '../../engine/cache-lifetimes.ts';
import { definePlugin } from '../../http/plugin.ts';
import { broadcastsEndpoint } from './broadcasts.ts';
import { changesetEndpoint } from './changeset.ts';
import { createMonitor, renewClocks } from './monitored-collections.ts';
import { monitorListEndpoint } from './monitor-list.ts';
import type { ChangesService } from './service.ts';
import { changesFamilies, changesSettings } from './settings.ts';

export const changes = definePlugin({
  name: 'changes',
  settings: changesSettings,
  families: changesFamilies,
  setup(host) {
    const { settings, versionPrefix, documentationUrl } = host;
    const values = settings.read(changesSettings);
    const [resources, excluded] = [values['changes.resources'], values['changes.excluded_collections']];
    const own = values['changes.http_host'];
    const monitor = createMonitor({ resources, excluded, host: own || (settings.get('http_host') ?? '') });
    const service: ChangesService = {
      host,
      values,
      readChanges: monitor.readChanges,
      redirects: {
        versionPrefix,
        host: own,
        // The host of a delivery network, whose scheme is unknown from the request that it forwards.
        scheme: settings.get('http_scheme') ?? 'https',
        ttlSeconds: values['changes.since_max_age_redirect_ttl_seconds'],
      },
      lifetimes: cacheLifetimes(settings),
    };
    return {
      capabilities: {
        changes: {
          description: 'Tracks modifications of records in the monitored collections.',
          url: documentationUrl('changes'),
          version: settings.get('project_version'),
          collections: [...resources],
        },
      },
      ordersTimestampsOf: monitor.includes,
      subscribers: [
        {
          name: 'changes',
          on: 'ResourceChanged',
          kinds: ['collection'],
          actions: ['create'],
          handle: ({ changes: created }, { unit }) => renewClocks(monitor, host.clock, created, unit),
        },
      ],
      endpoints: [monitorListEndpoint(service), changesetEndpoint(service), broadcastsEndpoint(service)],
      start() {
        const wrong = [...resources, ...excluded].find((uri) => host.objects.findByUri(uri) === undefined);
        if (wrong !== undefined)
          throw new Error(`The settings of changes name ${wrong}, which is not the URI of a bucket or collection.`);
      },
    };
  },
});
