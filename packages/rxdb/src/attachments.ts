// Attachments of documents, which stay in the collection: changes of others must not remove them.
import type { AnyConflictHandler } from './any.ts';
import { takesOver } from './late.ts';
import type { Document } from './shape.ts';

/** Adds the member that stored documents have, and RxDB expects of documents of the service. */
export function withoutAttachments(document: Document): Document {
  return { ...document, _attachments: {} };
}

/** Returns a handler for which each document has the attachments of the collection. */
export function keepingAttachments(handler: AnyConflictHandler): AnyConflictHandler {
  return {
    isEqual: (pulled, stored, context) => {
      if (context === takesOver && !pulled._deleted) pulled['_attachments'] = stored['_attachments'] ?? {};
      return handler.isEqual(pulled, stored, context);
    },
    resolve: async (input, context) => {
      const { _attachments: _, ...resolved } = await handler.resolve(input, context);
      // RxDB adds those of the stored document.
      return resolved;
    },
  };
}
