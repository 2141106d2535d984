//go:build !purego

#include "textflag.h"

// 0 … 63
DATA iota<>+0(SB)/8, $0x0706050403020100
DATA iota<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA iota<>+16(SB)/8, $0x1716151413121110
DATA iota<>+24(SB)/8, $0x1f1e1d1c1b1a1918
DATA iota<>+32(SB)/8, $0x2726252423222120
DATA iota<>+40(SB)/8, $0x2f2e2d2c2b2a2928
DATA iota<>+48(SB)/8, $0x3736353433323130
DATA iota<>+56(SB)/8, $0x3f3e3d3c3b3a3938
GLOBL iota<>(SB), RODATA|NOPTR, $64

// For each byte of eight words, the number of its word.
DATA eights<>+0(SB)/8, $0x0000000000000000
DATA eights<>+8(SB)/8, $0x0101010101010101
DATA eights<>+16(SB)/8, $0x0202020202020202
DATA eights<>+24(SB)/8, $0x0303030303030303
DATA eights<>+32(SB)/8, $0x0404040404040404
DATA eights<>+40(SB)/8, $0x0505050505050505
DATA eights<>+48(SB)/8, $0x0606060606060606
DATA eights<>+56(SB)/8, $0x0707070707070707
GLOBL eights<>(SB), RODATA|NOPTR, $64

DATA lowerCase<>+0(SB)/8, $0x2020202020202020
GLOBL lowerCase<>(SB), RODATA|NOPTR, $8
DATA firstLetter<>+0(SB)/8, $0x6161616161616161
GLOBL firstLetter<>(SB), RODATA|NOPTR, $8
DATA lettersLess1<>+0(SB)/8, $0x1919191919191919
GLOBL lettersLess1<>(SB), RODATA|NOPTR, $8
DATA firstDigit<>+0(SB)/8, $0x3030303030303030
GLOBL firstDigit<>(SB), RODATA|NOPTR, $8
DATA digitsLess1<>+0(SB)/8, $0x0909090909090909
GLOBL digitsLess1<>(SB), RODATA|NOPTR, $8
DATA eight<>+0(SB)/8, $0x0808080808080808
GLOBL eight<>(SB), RODATA|NOPTR, $8
DATA sixteen<>+0(SB)/8, $0x1010101010101010
GLOBL sixteen<>(SB), RODATA|NOPTR, $8
DATA lowHalf<>+0(SB)/8, $0x00000000ffffffff
GLOBL lowHalf<>(SB), RODATA|NOPTR, $8
DATA lowByte<>+0(SB)/8, $0x00000000000000ff
GLOBL lowByte<>(SB), RODATA|NOPTR, $8
DATA hashMaskLow<>+0(SB)/8, $0x243f6a8885a308d3
GLOBL hashMaskLow<>(SB), RODATA|NOPTR, $8
DATA hashMaskHigh<>+0(SB)/8, $0x452821e638d01377
GLOBL hashMaskHigh<>(SB), RODATA|NOPTR, $8
DATA hashMaskOut<>+0(SB)/8, $0xbe5466cf34e90c6c
GLOBL hashMaskOut<>(SB), RODATA|NOPTR, $8
DATA hashMulOut<>+0(SB)/8, $0xc0ac29b7c97c50dd
GLOBL hashMulOut<>(SB), RODATA|NOPTR, $8

// LOAD loads the block at ahead(SI) into data, in lower case, with zeros after the end of text. It sets in to the
// letters and digits of the block, and K2 to its non-ASCII bytes.
#define LOAD(ahead, data, in) \
	MOVQ        R13, CX              \
	SUBQ        SI, CX               \
	SUBQ        $ahead, CX           \ // number of bytes left
	XORL        AX, AX               \
	CMPQ        CX, AX               \
	CMOVQLT     AX, CX               \
	MOVQ        $-1, AX              \
	BZHIQ       CX, AX, DX           \
	CMPQ        CX, $64              \
	CMOVQLT     DX, AX               \
	KMOVQ       AX, K1               \
	VMOVDQU8.Z  ahead(SI), K1, Z8    \
	VPMOVB2M    Z8, K2               \
	VPORQ       Z18, Z8, data        \
	VPSUBB      Z19, data, Z9        \
	VPCMPUB     $2, Z20, Z9, K3      \
	VPSUBB      Z21, Z8, Z9          \
	VPCMPUB     $2, Z22, Z9, K4      \
	KORQ        K3, K4, K3           \
	KMOVQ       K3, in

// FOLD sets out to hash.Fold(a, b). aHigh and bHigh are a and b shifted right by 32.
#define FOLD(a, aHigh, b, bHigh, out) \
	VPMULUDQ    a, b, Z11            \
	VPMULUDQ    aHigh, b, Z12        \
	VPMULUDQ    a, bHigh, Z13        \
	VPMULUDQ    aHigh, bHigh, Z14    \
	VPSRLQ      $32, Z11, Z15        \
	VPADDQ      Z15, Z12, Z12        \
	VPSRLQ      $32, Z12, Z15        \
	VPADDQ      Z15, Z14, Z14        \
	VPANDQ      Z25, Z12, Z12        \
	VPADDQ      Z12, Z13, Z13        \
	VPSRLQ      $32, Z13, Z15        \
	VPADDQ      Z15, Z14, Z14        \
	VPSLLQ      $32, Z13, Z13        \
	VPTERNLOGQ  $0xEA, Z13, Z25, Z11 \ // Z11 & Z25 | Z13
	VPXORQ      Z11, Z14, out

// func foldedAVX512(dst []uint64, text []byte) (words, taken int)
TEXT ·foldedAVX512(SB), NOSPLIT, $0-64
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R9
	MOVQ text_base+24(FP), SI
	MOVQ text_len+32(FP), R13
	LEAQ -256(DI)(R9*8), R9 // last place with room for the 32 words that may begin in a block
	ADDQ SI, R13            // end of text

	VMOVDQU64    iota<>(SB), Z16
	VPBROADCASTQ iota<>(SB), Z17         // 0 … 7
	VPBROADCASTQ lowerCase<>(SB), Z18
	VPBROADCASTQ firstLetter<>(SB), Z19
	VPBROADCASTQ lettersLess1<>(SB), Z20
	VPBROADCASTQ firstDigit<>(SB), Z21
	VPBROADCASTQ digitsLess1<>(SB), Z22
	VPBROADCASTQ eight<>(SB), Z23
	VPBROADCASTQ sixteen<>(SB), Z24
	VPBROADCASTQ lowHalf<>(SB), Z25
	VPBROADCASTQ lowByte<>(SB), Z26
	VPBROADCASTQ hashMaskLow<>(SB), Z27
	VPBROADCASTQ hashMaskHigh<>(SB), Z28
	VPBROADCASTQ hashMaskOut<>(SB), Z29
	VPBROADCASTQ hashMulOut<>(SB), Z30
	VPSRLQ       $32, Z30, Z31
	VPSUBB       Z23, Z17, Z7            // −8 … −1

	XORL BX, BX        // inside: 1 if a word continues from the block before, which was written
	LOAD(0, Z0, R8)    // R8: in
	KORTESTQ K2, K2
	JNZ  end

block:
	CMPQ SI, R13
	JCC  whole
	CMPQ DI, R9
	JHI  full
	LOAD(64, Z1, R10)            // R10: in of the block ahead
	LEAQ    (BX)(R8*2), R11      // before
	ANDNQ   R11, R8, R12         // ends
	ANDNQ   R8, R11, R11         // starts
	MOVQ    R12, AX
	BLSRQ   R12, AX
	TESTQ   BX, BX
	CMOVQNE AX, R12              // ends of the words that begin here
	MOVQ    R8, BX
	SHRQ    $63, BX
	MOVQ    R10, AX
	NOTQ    AX
	TZCNTQ  AX, AX
	ADDQ    $64, AX              // end of the open word
	VPBROADCASTB AX, Z2
	VMOVDQA64    Z2, Z3
	MOVQ    R11, DX
	KORTESTQ K2, K2
	JZ      ascii
	TESTQ   BX, BX
	JZ      ascii
	LZCNTQ  R11, AX              // omit the open word, whose end is unknown
	MOVQ    $63, CX
	SUBQ    AX, CX
	BTRQ    CX, DX

ascii:
	// For each word that begins here, one byte each: its start and its end. Both are equal where there is no word.
	KMOVQ       DX, K1
	VPCOMPRESSB Z16, K1, Z2
	KMOVQ       R12, K1
	VPCOMPRESSB Z16, K1, Z3
	POPCNTQ     DX, CX
	MOVQ        CX, R14
	VMOVDQU64   eights<>(SB), Z4

words:
	TESTQ       CX, CX
	JLE         advance
	VPERMB      Z2, Z4, Z5             // starts
	VPERMB      Z3, Z4, Z6             // ends
	VPADDB      Z23, Z4, Z4
	VPSUBB      Z5, Z6, Z10            // lengths
	VPCMPUB     $6, Z24, Z10, K3       // longer than 16
	VPADDB      Z17, Z5, Z5
	VPCMPUB     $1, Z6, Z5, K1
	VPERMI2B.Z  Z1, Z0, K1, Z5         // first 8 bytes
	VPADDB      Z7, Z6, Z6
	VPCMPUB     $6, Z23, Z10, K1
	VPERMI2B.Z  Z1, Z0, K1, Z6         // last 8 bytes, of words with more
	VPXORQ      Z27, Z5, Z5
	VPXORQ      Z28, Z6, Z6
	VPSRLQ      $32, Z5, Z8
	VPSRLQ      $32, Z6, Z9
	FOLD(Z5, Z8, Z6, Z9, Z5)
	VPANDQ      Z26, Z10, Z10
	VPTERNLOGQ  $0x96, Z10, Z29, Z5    // Z5 ^ Z29 ^ Z10
	VPSRLQ      $32, Z5, Z8
	FOLD(Z5, Z8, Z30, Z31, Z5)
	VMOVDQU64   Z5, (DI)
	KORTESTQ    K3, K3
	JNZ         long
	ADDQ        $64, DI
	SUBQ        $8, CX
	JMP         words

advance:
	LEAQ      (DI)(CX*8), DI // drop what was written in excess
	KORTESTQ  K2, K2
	JNZ       wide
	ADDQ      $64, SI
	MOVQ      R10, R8
	VMOVDQA64 Z1, Z0
	JMP       block

wide:
	// Stop at the open word, or after the block.
	LZCNTQ R11, AX
	MOVQ   $63, CX
	SUBQ   AX, CX
	MOVQ   $64, AX
	TESTQ  BX, BX
	CMOVQNE CX, AX
	ADDQ   AX, SI
	JMP    end

long:
	// Stop at the first long word.
	KMOVQ  K3, AX
	TZCNTQ AX, AX
	SHRQ   $3, AX
	LEAQ   (DI)(AX*8), DI
	SUBQ   CX, R14
	ADDQ   R14, AX      // its index among the words of the block
	MOVQ   $1, DX
	SHLXQ  AX, DX, DX
	PDEPQ  R11, DX, DX
	TZCNTQ DX, DX
	ADDQ   DX, SI
	JMP    end

full:
	// Stop after the byte that follows the open word.
	TESTQ  BX, BX
	JZ     end
	NOTQ   R8
	TZCNTQ R8, R8
	LEAQ   1(SI)(R8*1), SI

whole:
	CMPQ    SI, R13
	CMOVQHI R13, SI

end:
	VZEROUPPER
	MOVQ dst_base+0(FP), AX
	SUBQ AX, DI
	SHRQ $3, DI
	MOVQ DI, words+48(FP)
	SUBQ text_base+24(FP), SI
	MOVQ SI, taken+56(FP)
	RET
