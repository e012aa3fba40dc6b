/** One key: where it stands, and forgetting what it has used. */
import { useEffect, useState } from 'preact/hooks';
import { Decisions } from './decisions.tsx';
import { Modal } from './modal.tsx';
import { overrideText } from './override-text.ts';
import { isOk, type KeyStateData, keyPath, problemText, type ServiceApi } from './service-api.ts';

interface KeyDialogProps {
  readonly rule: string;
  readonly name: string;
  readonly service: ServiceApi;
  readonly onClose: () => void;
}

interface InspectDialogProps extends KeyDialogProps {
  /** By the clock of the service. */
  readonly nowMs: number;
}

type Inspected = { readonly state: KeyStateData } | { readonly problem: string } | undefined;

export function InspectDialog({ rule, name, service, nowMs, onClose }: InspectDialogProps) {
  const [inspected, setInspected] = useState<Inspected>();
  const [round, setRound] = useState(0);
  // With `round`: a new round asks again.
  useEffect(() => {
    let isCurrent = true;
    void service.ask('GET', keyPath('keys', rule, name)).then((reply) => {
      if (!isCurrent) return;
      setInspected(isOk(reply) ? { state: reply.body as KeyStateData } : { problem: problemText(reply) });
    });
    return () => {
      isCurrent = false;
    };
  }, [rule, name, service, round]);
  return (
    <Modal title={`${name} of ${rule}`} onClose={onClose}>
      <p class="quiet">What a check of cost 1 would be answered now. Nothing is taken.</p>
      <div class="inspected" aria-live="polite">
        {inspected === undefined && <p class="quiet">Asking…</p>}
        {inspected !== undefined && 'problem' in inspected && <p class="problem">{inspected.problem}</p>}
        {inspected !== undefined && 'state' in inspected && (
          <>
            <Decisions decisions={[inspected.state.decision]} />
            <p>
              {inspected.state.override ? `Override: ${overrideText(inspected.state.override, nowMs)}` : 'No override.'}
            </p>
          </>
        )}
      </div>
      <div class="modal-buttons">
        <button type="button" onClick={() => setRound(round + 1)}>
          Ask again
        </button>
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Modal>
  );
}

interface ResetDialogProps extends KeyDialogProps {
  readonly onReset: () => void;
}

export function ResetDialog({ rule, name, service, onClose, onReset }: ResetDialogProps) {
  const [problem, setProblem] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);
  async function reset(): Promise<void> {
    setIsAsking(true);
    const reply = await service.ask('DELETE', keyPath('keys', rule, name));
    setIsAsking(false);
    if (isOk(reply)) onReset();
    else setProblem(problemText(reply));
  }
  return (
    <Modal title="Reset this key?" onClose={onClose}>
      <p>
        What <code>{name}</code> has used under <code>{rule}</code> is forgotten, and its block if it has one: it gets
        its whole limit again. This cannot be undone.
      </p>
      {problem !== undefined && (
        <p role="alert" class="problem">
          {problem}
        </p>
      )}
      <div class="modal-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="danger" disabled={isAsking} onClick={() => void reset()}>
          Reset the key
        </button>
      </div>
    </Modal>
  );
}
