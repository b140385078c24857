package ssh

import "fmt"

// cure is what to look at or to type where nothing better is known of a failure; empty:
// there is nothing to cure.
func (h *Host) cure(code string) string {
	byHand := h.manualCommand()
	switch code {
	case codeInterrupted:
		return ""
	case codeConfig:
		return "the line says where; " + byHand + " shows whether it is right"
	case codeClient:
		return "see whether ssh runs by hand: " + byHand
	case codeRefused:
		return "see whether sshd runs there, and on which port: the host's option port names another; " + byHand + " tries it by hand"
	case codeRoute:
		return `is it up, is its address right, is this machine in that network (ip route, a VPN)? ssh_options = ["ProxyJump=GATE"] goes through another host`
	case codeTimeout:
		return "is it up and not overloaded? --connect-timeout gives it longer; " + byHand + " tries it by hand"
	case codeBusy:
		return "fewer --forks; MaxStartups in its sshd_config allows more, and its log says whom it sends away"
	case codeCut:
		return "see whether the host and the line are well: " + byHand
	case codeProxy:
		return "try the jump host by hand, and the host from there; " + byHand + " goes the whole way"
	case codeAuth:
		return byHand + " tries it by hand; with -v it tells which ways the host takes"
	case codeName:
		return "the host's option address names another one"
	case codeHostKey:
		return "compare the key with the host's own, and connect once by hand: " + byHand
	case codeAlgorithms:
		return "ssh -Q lists what there is; --ssh-option allows more"
	case codeShell:
		return "the account needs a shell that runs commands (getent passwd; ForceCommand and command= keep it from that); " + fmt.Sprintf("try %s true", byHand)
	case codeBecome:
		return "try it there by hand: " + h.Become.program().TestCommand()
	case codeArch:
		return "tenet runner build makes runners for other machines"
	case codeNoSpace:
		return "make room; " + cacheHint
	case codeReadOnly, codeNoexec, codeCache:
		return cacheHint
	case codeDamaged, codeCrashed:
		return "are disk and memory there well, has it room, does a security module (SELinux, AppArmor) forbid it? its log tells"
	case codeVersion:
		return "build the runners anew: tenet runner build"
	case codeProtocol:
		return "something there says what the runner does not: a shell's start-up file, or a program in between; try " + byHand + " true"
	}
	return "try it by hand: " + byHand
}
