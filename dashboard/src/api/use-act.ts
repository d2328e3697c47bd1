import { useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useToast } from "../ui/toasts.tsx";

export interface ActOptions<Answer> {
  /** What is asked for again afterwards. */
  refreshes: readonly QueryKey[];
  /** What is told when it worked. */
  tell?: string | ((answer: Answer) => string);
  onDone?: (answer: Answer) => void;
  onFailed?: (error: Error) => void;
}

/** Something that changes the gateway: says how it went, and what it changed is loaded again. */
export function useAct<Input, Answer>(run: (input: Input) => Promise<Answer>, options: ActOptions<Answer>) {
  const client = useQueryClient();
  const toast = useToast();
  return useMutation<Answer, Error, Input>({
    mutationFn: run,
    onSuccess(answer) {
      const { tell, onDone, refreshes } = options;
      if (tell !== undefined) toast.tell(typeof tell === "string" ? tell : tell(answer));
      onDone?.(answer);
      for (const queryKey of refreshes) void client.invalidateQueries({ queryKey });
    },
    onError(error) {
      if (options.onFailed === undefined) toast.fail(error);
      else options.onFailed(error);
    },
  });
}
