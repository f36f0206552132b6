// Plugin `emailer`: mails about changes. An attribute of buckets and collections defines hooks: which changes send
// which mail to whom. See docs/guides/emailer.md.
import { definePlugin, type PluginHost } from '../../http/plugin.ts';
import { validateHooks } from './hook-validation.ts';
import { Notifier } from './notifier.ts';
import { changeEvent, mailEventOf } from './mail-event.ts';
import { emailerSettings } from './settings.ts';

export const emailer = definePlugin({
  name: 'emailer',
  settings: emailerSettings,
  setup(host) {
    const { settings, objects, stores, mailer, logger, versionPrefix } = host;
    const values = settings.read(emailerSettings);
    const limits = {
      maxHooks: values['emailer.max_hooks'],
      maxRecipients: values['emailer.max_recipients'],
      isGroupId: (text: string): boolean => objects.kind('group').ids.parse(text) !== undefined,
    };
    const notifier = new Notifier({
      storage: stores.storage.reader,
      mailer,
      logger,
      limits,
      maxWaiting: values['emailer.max_waiting'],
      versionPrefix,
      shownSettings: shownSettings(host),
    });
    return {
      capabilities: {
        emailer: {
          description: 'Sends mails about changes as configured in buckets and collections.',
          url: host.documentationUrl('emailer'),
        },
      },
      subscribers: [
        {
          name: 'emailer',
          on: 'ResourceChanged',
          kinds: ['bucket', 'collection'],
          actions: ['create', 'update'],
          handle: (event, scope) => validateHooks(event, scope, { objects, limits }),
        },
        {
          name: 'emailer',
          on: 'AfterResourceChanged',
          kinds: ['collection', 'record'],
          handle: ({ timestamp, changes, request }) =>
            notifier.notify({ event: changeEvent, timestamp, changes, request }),
        },
        { name: 'emailer', on: 'AfterNamedEvent', handle: (event) => notifier.notify(mailEventOf(event)) },
      ],
      stop: () => notifier.close(settings.get('mail.timeout_seconds') * 1000),
    };
  },
});

/** Returns the public settings that templates can show, such as `{settings[project_name]}`. */
function shownSettings({ settings }: PluginHost): ReadonlyMap<string, string> {
  const names = ['project_name', 'project_version', 'project_docs', 'http_scheme', 'http_host'] as const;
  return new Map(names.map((name) => [`settings[${name}]`, settings.get(name) ?? '']));
}
