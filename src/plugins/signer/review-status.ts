// The review state machine of a source collection: allowed transitions of its attribute `status`, the required group,
// and the resulting step. Pure: a table and a function over it.
import { abbreviateJson } from '../../base/abbreviate.ts';
import type { JsonValue } from '../../base/json.ts';

/** The work that follows when a client sets the status. */
export type Step =
  /** Only the status changes. */
  | 'edit'
  /** The review ends without approval. */
  | 'reject'
  /** Records are copied to the preview. */
  | 'requestReview'
  /** Records are copied to the preview and the destination. */
  | 'approve'
  /** Preview and destination are signed again without changes. */
  | 'resign'
  /** Records of the destination are copied back to the source and the preview. */
  | 'rollBack';

interface Rule {
  readonly to: string;
  /** Current statuses from which the transition is allowed; absent: any, including none. */
  readonly from?: readonly string[];
  readonly notFrom?: readonly string[];
  /** Restricts the rule to collections with or without reviews; absent: both. */
  readonly isReviewed?: boolean;
  readonly group?: 'editors' | 'reviewers';
  /** Excludes the user who requested the review. */
  readonly notRequester?: boolean;
  readonly step: Step;
}

/** The first rule that matches the new status, the review mode and the current status applies. */
const rules: readonly Rule[] = [
  { to: 'work-in-progress', from: ['to-review'], step: 'reject' },
  { to: 'work-in-progress', step: 'edit' },
  // Attributes of a signed collection may have changed, which does not change its status.
  { to: 'to-review', isReviewed: true, group: 'editors', step: 'requestReview' },
  { to: 'to-review', isReviewed: false, step: 'requestReview' },
  {
    to: 'to-sign',
    from: ['to-review'],
    isReviewed: true,
    group: 'reviewers',
    notRequester: true,
    step: 'approve',
  },
  { to: 'to-sign', notFrom: ['signed'], isReviewed: false, step: 'approve' },
  { to: 'to-resign', step: 'resign' },
  { to: 'to-rollback', notFrom: ['signed'], step: 'rollBack' },
];

export interface StatusChange {
  /** Current status; `undefined` for collections without one. */
  readonly from: string | undefined;
  /** Status set by the client; `undefined` when it removed the attribute. */
  readonly to: JsonValue | undefined;
  /** Whether signing requires a review. */
  readonly isReviewed: boolean;
  readonly isEditor: boolean;
  readonly isReviewer: boolean;
  /** Whether this user requested the review. */
  readonly isRequester: boolean;
}

export type Decision =
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'forbidden'; readonly message: string };

/**
 * Returns the step that a change of status leads to, or why it is refused. Missing group membership is reported first,
 * so that callers without rights do not learn the current status.
 */
export function decide(change: StatusChange): Decision {
  const { from, to, isReviewed } = change;
  if (to === undefined) return invalid('The attribute status cannot be removed.');
  const candidates = rules.filter((rule) => rule.to === to && (rule.isReviewed ?? isReviewed) === isReviewed);
  if (candidates.length === 0) return invalid(`The status cannot be set to ${abbreviateJson(to, 1)}.`);
  const refused = candidates.find((rule) => !isMember(rule, change));
  if (refused !== undefined)
    return { kind: 'forbidden', message: `Only members of the ${refused.group} group can set this status.` };
  const rule = candidates.find(({ from: froms, notFrom }) =>
    froms === undefined ? notFrom?.includes(from ?? '') !== true : froms.includes(from ?? ''),
  );
  if (rule === undefined) {
    return invalid(
      `The status cannot be set to ${abbreviateJson(to, 1)} while it is ${abbreviateJson(from ?? null, 1)}.`,
    );
  }
  if (rule.notRequester === true && change.isRequester) {
    return { kind: 'forbidden', message: 'The user who requested the review cannot approve it.' };
  }
  return { kind: 'step', step: rule.step };
}

function isMember({ group }: Rule, { isEditor, isReviewer }: StatusChange): boolean {
  return group === undefined || (group === 'editors' ? isEditor : isReviewer);
}

function invalid(message: string): Decision {
  return { kind: 'invalid', message };
}
